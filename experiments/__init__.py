"""The papers' experiments, a folder each: claims (`expected.json`), how they are run, what comes out."""
