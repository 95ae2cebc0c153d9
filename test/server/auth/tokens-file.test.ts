import {expect, test} from 'vitest';
import {readTokensFile} from '../../../src/server/auth/tokens-file.js';
import {fileWith, sha256} from '../../helpers/tokens.js';

const A = sha256('a');
const B = sha256('b');

test('entries are names with what they are good for', () => {
	const path = fileWith(`
[[tokens]]
name = "all"
sha256 = "${A.toUpperCase()}"

[[tokens]]
name = "ci"
sha256 = "${B}"
scopes = ["drive", "files"]
max_processes = 8
max_connections = 2
max_retained = "1.5MiB"
`);
	expect(readTokensFile(path)).toEqual([
		{digest: Buffer.from(A, 'hex'), grant: {name: 'all', limits: {}}},
		{
			digest: Buffer.from(B, 'hex'),
			grant: {
				name: 'ci',
				scopes: ['drive', 'files'],
				limits: {maxProcesses: 8, maxConnections: 2, maxRetainedBytes: 1_572_864},
			},
		},
	]);
});

const entry = (more: string, name = 'n', sha = A): string =>
	`[[tokens]]\nname = "${name}"\nsha256 = "${sha}"\n${more}\n`;

test.each([
	['', 'there must be at least one [[tokens]] entry'],
	['tokens = []', 'there must be at least one [[tokens]] entry'],
	['tokens = 1', 'there must be at least one [[tokens]] entry'],
	['tokens = [1]', 'token 1 must be a table'],
	['other = 1', 'unknown key `other`, only [[tokens]] is known'],
	['\n[[tokens]\n', 'line 2, column 10 cannot be read'],
	[`[[tokens]]\nsha256 = "${A}"`, 'token 1 needs a `name` of at most 64 characters'],
	[entry('', ''), 'token 1 needs a `name` of at most 64 characters'],
	[entry('', 'x'.repeat(65)), 'token 1 needs a `name` of at most 64 characters'],
	['[[tokens]]\nname = "n"', 'token 1 needs a `sha256` of 64 hex digits'],
	[entry('', 'n', 'hunter2'), 'token 1 needs a `sha256` of 64 hex digits'],
	[
		entry('token = "hunter2"'),
		'token 1 has an unknown key, expected one of name, sha256, scopes, max_processes, max_connections, max_retained',
	],
	[entry('scopes = "drive"'), '`scopes` of token 1 must be a list of observe, drive, files, http'],
	[entry('scopes = ["root"]'), '`scopes` of token 1 must be a list of observe, drive, files, http'],
	[entry('max_processes = 0'), '`max_processes` of token 1 must be a positive whole number'],
	[entry('max_connections = 1.5'), '`max_connections` of token 1 must be a positive whole number'],
	[entry('max_retained = "lots"'), '`max_retained` of token 1 must be a size such as 1048576, 512KiB or 8MiB'],
	[`${entry('')}${entry('', 'n', B)}`, 'token 2 has the `name` of another one'],
	[`${entry('')}${entry('', 'm')}`, 'token 2 has the `sha256` of another one'],
])('%j is refused: %s', (content, fault) => {
	const path = fileWith(content, 'tokens.toml');
	expect(() => readTokensFile(path)).toThrow(`websocket tokens file ${path}: ${fault}`);
});

test('a file of more tokens than are compared at once is refused', () => {
	const path = fileWith(Array.from({length: 1001}, (_, index) => entry('', `n${index}`, sha256(`${index}`))).join(''));
	expect(() => readTokensFile(path)).toThrow('there must be at most 1000 [[tokens]] entries');
});
