// @ts-check
// The cells of the example: which measurements tell the species of a penguin? Pure.
//
// They use pandas and matplotlib only where the notebook's Python has them. The data is from
// https://github.com/allisonhorst/palmerpenguins (CC0): Horst, Hill and Gorman, 2020.

/** The file that the first cell reads, in the directory in which cells run. */
export const DATA = 'penguins.csv';

/** The packages that the cells use if they are installed. */
export const PACKAGES = /** @type {const} */ (['pandas', 'matplotlib']);

const TITLE = `\
# Which measurements tell the species of a penguin?

333 penguins of three species, measured at Palmer Station in Antarctica
([Horst, Hill and Gorman](https://allisonhorst.github.io/palmerpenguins/), CC0).`;

const LOAD = `import csv
from collections import Counter
from math import dist

with open("${DATA}", newline="") as file:
    penguins = [row for row in csv.DictReader(file) if "NA" not in row.values()]

penguins[0]`;

const LOAD_TABLE = `import pandas as pd
from collections import Counter
from math import dist

penguins = pd.read_csv("${DATA}").dropna()
penguins`;

const CHOOSE = `features = ["flipper_length_mm", "body_mass_g"]\n\n`;

const POINTS = `\
points = [[float(penguin[name]) for name in features] for penguin in penguins]
species = [penguin["species"] for penguin in penguins]`;

const POINTS_OF_TABLE = `\
points = penguins[features].values.tolist()
species = penguins["species"].tolist()`;

const PLOT = `

colours = penguins["species"].map({"Adelie": "C0", "Chinstrap": "C1", "Gentoo": "C2"})
penguins.plot.scatter(features[0], features[1], c=colours, figsize=(5, 3));`;

const GUESS = `\
def guess(point, known, k=5):
    """The most frequent species among the k most similar penguins."""
    nearest = sorted(known, key=lambda other: dist(point, other[0]))[:k]
    return Counter(name for _, name in nearest).most_common(1)[0][0]

known = list(zip(points, species))
guesses = [guess(point, known[:i] + known[i + 1:]) for i, point in enumerate(points)]`;

const SCORE = `\
accuracy = sum(a == b for a, b in zip(guesses, species)) / len(species)
print(f"{accuracy:.0%} right, by {' and '.join(features)}")`;

const CROSS_TABLE = `
pd.crosstab(penguins["species"], pd.Series(guesses, penguins.index, name="guess"))`;

/**
 * @param {Set<string>} installed those of `PACKAGES` that the notebook's Python has
 * @returns {{kind: 'code' | 'markdown', source: string}[]} a title and four code cells
 */
export function exampleCells(installed) {
    const hasTables = installed.has('pandas');
    const hasPlots = hasTables && installed.has('matplotlib');
    return [
        { kind: 'markdown', source: TITLE },
        ...[
            hasTables ? LOAD_TABLE : LOAD,
            CHOOSE + (hasTables ? POINTS_OF_TABLE : POINTS) + (hasPlots ? PLOT : ''),
            GUESS,
            SCORE + (hasTables ? CROSS_TABLE : ''),
        ].map((source) => ({ kind: /** @type {const} */ ('code'), source })),
    ];
}
