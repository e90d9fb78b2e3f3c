/* capture.h - what a matcher of a grammar with captures keeps besides its sets: the text, and its chart.
 *
 * A capture is the span of text that one rule with a name matched.  Accepting
 * only writes the text down; the chart follows when spans are asked for, and
 * reads each byte once.
 *
 * Which reading.  A text may stand at several places in the grammar; each has
 * one reading (chart.h), and the one that captures least is taken: where two
 * first differ, the one whose capture begins later, else ends earlier, an open
 * one last of all; else the first in the chart.  So while `</` may still begin
 * the marker that ends a captured text, it is not part of it, and should it
 * turn out to be text, the capture grows by it: what is given out is taken
 * back only where several readings of a whole text exist.  After a stop token
 * the text is complete. */
#ifndef STE_CAPTURE_H
#define STE_CAPTURE_H

#include "chart.h"

typedef struct transcript {
    VEC(uint8_t) text;
    VEC(chart_step) steps;
    uint32_t charted; /* steps that the chart has */
    chart chart;
    bool stuck; /* the next step does not fit into a limit: so it will be until the text is cut */
} transcript;

/* What one accepted step adds to the text. */
typedef struct passage {
    const uint8_t *bytes;
    size_t n;
    uint32_t token; /* or TRIE_NO_TOKEN */
    bool by_bytes;
} passage;

transcript *transcript_new(store *s); /* NULL when out of memory, like the copy */
transcript *transcript_copy(store *s, const transcript *t); /* its chart is made anew when asked for */
void transcript_free(store *s, transcript *t);
/* Room for one passage of n bytes, so that adding it cannot fail; else STE_ERR_NO_MEMORY or STE_ERR_LIMIT. */
int transcript_reserve(store *s, transcript *t, size_t n);
void transcript_add(transcript *t, passage p);
/* Back to the first n steps. */
void transcript_cut(transcript *t, uint32_t n);

/* Write at most `capacity` captures in order of where they begin, outer ones before inner ones; returns how many
 * there are, or a negative code.  complete: a stop token was accepted.  Wants the gate held for reading. */
int64_t transcript_captures(use *u, transcript *t, const rule *root, bool complete, ste_capture *out, size_t capacity);

#endif
