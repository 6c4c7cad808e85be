"""Charts as inline SVG, for the server's pages and for reports: no script, no request, no library.

Colours come from the style sheet of the page, by class. Every chart has a text for those who cannot
see it, and every text given to a chart is escaped.
"""
