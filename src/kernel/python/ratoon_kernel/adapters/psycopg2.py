"""Connections of psycopg2 cannot be saved."""

from ..adapter import Adapter


class Psycopg2(Adapter):
    library = "psycopg2"
    refused = {("psycopg2.extensions", "connection"): "a database connection"}
