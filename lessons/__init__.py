"""The lessons: one script a chapter, to read, to run and to step through."""
