"""Files before they are read as tables: opening, decompression, encodings, and the detection of formats."""
