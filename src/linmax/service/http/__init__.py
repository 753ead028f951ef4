"""The HTTP interface: what every request passes, the endpoints, the forms of bodies, and what is reported."""
