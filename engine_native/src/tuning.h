/* tuning.h - from what size on a shortcut pays.
 *
 * Masks are found by many shortcuts, most of which pay in large vocabularies and rules only.  Built with STE_EAGER each is
 * taken as soon as it can be, so that random tests, whose vocabularies are small, go through all of them.  Nothing but
 * time depends on these numbers. */
#ifndef STE_TUNING_H
#define STE_TUNING_H

#ifdef STE_EAGER
#define PAYS_FROM(usual, eager) (eager)
#else
#define PAYS_FROM(usual, eager) (usual)
#endif

#endif
