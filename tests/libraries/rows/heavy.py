"""Rows with libraries that take long to import."""

from model import row

ROWS = (
    row(
        "arviz options",
        "import arviz\nfrom arviz import rcParams\nrcParams['stats.ci_prob'] = 0.5; print(len(rcParams))",
        "print(arviz.rcParams['stats.ci_prob'], rcParams is arviz.rcParams)",
    ),
    row(
        "spacy blank",
        "import spacy\nnlp = spacy.blank('en')\nprint([t.text for t in nlp('Hello world')])",
        "print(len(nlp('one two three')), nlp.lang)",
    ),
    row(
        "spacy train textcat",
        """
        import spacy
        from spacy.training import Example
        nlp = spacy.blank('en'); cat = nlp.add_pipe('textcat'); cat.add_label('A'); cat.add_label('B')
        texts = [('good', {'A': 1, 'B': 0}), ('bad', {'A': 0, 'B': 1})]
        data = [Example.from_dict(nlp.make_doc(t), {'cats': c}) for t, c in texts]
        opt = nlp.initialize(lambda: data); losses = nlp.update(data, sgd=opt)
        print(sorted(losses))
        """,
        "print(sorted(nlp.update(data, sgd=opt)), sorted(nlp('good').cats))",
    ),
    row(
        "spacy added attributes",
        """
        import spacy
        from spacy.tokens import Doc, Span, Token
        Doc.set_extension('source', default=None)
        Token.set_extension('is_fruit', getter=lambda token: token.text in ('apple',))
        Span.set_extension('times', method=lambda span, count: len(span) * count)
        doc = spacy.blank('en')('an apple here'); doc._.source = 'lab'
        """,
        "print(doc._.source, doc[1]._.is_fruit, doc[0:2]._.times(3))",
    ),
    row(
        "rdkit properties",
        """
        from rdkit import Chem
        mol = Chem.MolFromSmiles('CCO'); mol.SetProp('source', 'lab'); mol.note = 'own'
        mol.GetAtomWithIdx(0).SetProp('place', 'first'); pair = [mol, Chem.RWMol(mol)]
        """,
        "print(mol.GetProp('source'), mol.GetAtomWithIdx(0).GetProp('place'), mol.note,\n"
        "      pair[0] is mol, type(pair[1]).__name__, pair[1].GetProp('source'))",
    ),
    row(
        "pymc",
        "import pymc as pm, pytensor\n"
        "pytensor.config.cxx = ''\n"
        "with pm.Model() as m:\n"
        "    x = pm.Normal('x')\n"
        "print([v.name for v in m.free_RVs])",
        "with m: y = m['y'] if 'y' in m.named_vars else pm.Normal('y', x)\n"
        "print([v.name for v in m.free_RVs])",
    ),
)
