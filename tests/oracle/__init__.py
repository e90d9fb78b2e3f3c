"""The slow, obvious definition of right: grammars as data, a textbook parser, masks by trial."""
