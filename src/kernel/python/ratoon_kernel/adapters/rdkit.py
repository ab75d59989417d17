"""Saves and restores molecules of RDKit with all their properties. By itself, RDKit pickles only
those that `Chem.SetDefaultPickleProperties` names."""

from __future__ import annotations

from typing import Any

from ..adapter import Adapter, Reduced


def _reduce_molecule(value: Any) -> Reduced:
    from rdkit.Chem import PropertyPickleOptions

    make, _, state = value.__reduce__()
    return make, (value.ToBinary(int(PropertyPickleOptions.AllProps)),), state


class Rdkit(Adapter):
    library = "rdkit"
    reducers = {
        ("rdkit.Chem.rdchem", "Mol"): _reduce_molecule,
        ("rdkit.Chem.rdchem", "RWMol"): _reduce_molecule,
    }
