"""The adapters beside scikit-learn's and River's own ensembles, and what they cost over the session."""
