"""The built-in embedding model and the sample reports of report-chat."""
