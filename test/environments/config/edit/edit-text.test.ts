import {expect, test} from 'vitest';
import {
	withDefault,
	withEntry,
	withoutDefault,
	withoutEntry,
} from '../../../../src/environments/config/edit/edit-text.js';
import {toStatements} from '../../../../src/environments/config/edit/toml-statements.js';

const WRITTEN = `# The machines of this team.

default = 'one'   # the quick one
include_local = true

# Asked for by everybody.
[[environments]]
id = "one"
url = "ws://127.0.0.1:1"   # [[environments]] in a comment

# In the basement.
[[ environments ]]
id = "two"
program = "sh"
# How it is called.
args = [
	"-c", # [[environments]]
	"""
[[environments]]
id = 'not one'
"""""",
]
[environments.env]
LANG = 'C'
# tail of two

# --- far away ---

[[environments]]
id = "three"
url = 'wss://three.example/'
`;

test('statements put together again are the text, whatever is in strings and lists', () => {
	const statements = toStatements(WRITTEN);
	expect(statements.map(({text}) => text).join('')).toBe(WRITTEN);
	expect(statements.filter(({kind}) => kind === 'header').map(({text}) => text.trim())).toEqual([
		'[[environments]]',
		'[[ environments ]]',
		'[environments.env]',
		'[[environments]]',
	]);
	for (const text of ['', '\n', 'a = 1', 'a = "\\"#"\nb = 2', "a = '\\'\nb = 2\n"]) {
		expect(
			toStatements(text)
				.map(statement => statement.text)
				.join(''),
		).toBe(text);
	}
	expect(toStatements('a = "\\"#"\nb = 2')).toHaveLength(2);
	expect(toStatements("a = '\\'\nb = 2\n")).toHaveLength(2);
});

test('a table in the middle goes with its comments and parts, and nothing else does', () => {
	const cut = withoutEntry(WRITTEN, 1);
	const [before, after] = [WRITTEN.indexOf('# In the basement.'), WRITTEN.indexOf('# --- far away')];
	expect(cut).toBe(WRITTEN.slice(0, before) + WRITTEN.slice(after));
});

test('the first table and the last one leave the rest as it was', () => {
	const first = withoutEntry(WRITTEN, 0);
	expect(first).toBe(
		WRITTEN.slice(0, WRITTEN.indexOf('# Asked for')) + WRITTEN.slice(WRITTEN.indexOf('# In the basement.')),
	);
	const last = withoutEntry(WRITTEN, 2);
	expect(last).toBe(`${WRITTEN.slice(0, WRITTEN.indexOf('[[environments]]\nid = "three"')).trimEnd()}\n`);
	expect(withoutEntry(WRITTEN, 3)).toBe(WRITTEN);
});

test('comments at the top of a file are about the file', () => {
	expect(withoutEntry('# mine\n[[environments]]\nid = "a"\n\n[[environments]]\nid = "b"\n', 0)).toBe(
		'# mine\n\n[[environments]]\nid = "b"\n',
	);
	expect(withoutEntry('[[environments]]\nid = "a"\n', 0)).toBe('');
});

test('a new environment stands at the end, with every character as it was given', () => {
	const added = withEntry(WRITTEN, {id: 'four', program: 'sh', args: ['-c', 'echo "a\\b"\t\u007F\n']});
	expect(added.startsWith(`${WRITTEN}\n[[environments]]\nid = "four"\n`)).toBe(true);
	expect(withEntry('', {id: 'a', url: 'ws://h:1'})).toBe('[[environments]]\nid = "a"\nurl = "ws://h:1"\n');
	expect(withEntry('# x', {id: 'a', url: 'ws://h:1'})).toBe('# x\n\n[[environments]]\nid = "a"\nurl = "ws://h:1"\n');
});

test('the default is changed in its place, put above the tables, or taken out', () => {
	expect(withDefault(WRITTEN, 'two')).toBe(WRITTEN.replace("default = 'one' ", 'default = "two" '));
	expect(withoutDefault(WRITTEN)).toBe(WRITTEN.replace("default = 'one'   # the quick one\n", ''));
	expect(withDefault('# x\n\n# y\n[[environments]]\nid = "a"\n', 'a')).toBe(
		'# x\n\ndefault = "a"\n\n# y\n[[environments]]\nid = "a"\n',
	);
	expect(withDefault('', 'a')).toBe('default = "a"\n');
	expect(withoutDefault('[[environments]]\nid = "a"\n')).toBe('[[environments]]\nid = "a"\n');
});
