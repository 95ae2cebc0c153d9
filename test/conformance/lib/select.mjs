// Loading the groups and picking the tests that the options ask for.
import {readdirSync} from 'node:fs';
import {split} from './options.mjs';

const FOLDER = new URL('../groups/', import.meta.url);

/** The tests of all groups that match; throws when a group does not exist or nothing matches. */
export async function selectTests({profile, only, grep}) {
	const tests = await loadTests();
	const groups = new Set(tests.map(test => test.group));
	const unknown = split(only).find(name => !groups.has(name));
	if (unknown) throw new Error(`unknown group ${unknown}; expected ${[...groups].join(', ')}`);
	const selected = tests.filter(
		test =>
			split(profile).includes(test.profile) &&
			(!only || split(only).includes(test.group)) &&
			(!grep || `${test.group} ${test.name}`.includes(grep)),
	);
	if (selected.length === 0) throw new Error('no test matches --profile, --only and --grep');
	return selected;
}

async function loadTests() {
	const files = readdirSync(FOLDER).filter(name => name.endsWith('.mjs'));
	const modules = await Promise.all(files.sort().map(file => import(new URL(file, FOLDER).href)));
	return modules.flatMap(({tests}) => tests);
}
