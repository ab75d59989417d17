// Runs files of tests one after the other in one process. There they share a browser and a server:
// to start both takes longer than most tests.
//
// usage: node tests/browser/together.mjs FILE…

import { resolve } from 'node:path';
import { describe } from 'node:test';
// Before the files, because what it does before and after tests holds for all of them.
import './harness.mjs';

for (const file of process.argv.slice(2)) describe(file, () => import(resolve(file)));
