import {expect, test} from 'vitest';
import {expandPattern} from '../../../src/cli/common/expand-pattern.js';
import type {ParsedLocation} from '../../../src/cli/common/locations.js';
import {FileError} from '../../../src/client/files/file-error.js';
import {PathUri} from '../../../src/protocol/path-uri/path-uri.js';

/** A place on a machine that lists whatever it likes. */
function placeOn(names: readonly string[], given: string): ParsedLocation {
	const files = {
		supports: async () => false,
		async metadata(path: PathUri) {
			if (path.href.endsWith(PathUri.fromNative(given).href)) throw new FileError('not-found', 'none', {path: given});
			return {isDirectory: true};
		},
		readDirectory: async () => names.map(fileName => ({fileName, isDirectory: false, isFile: true})),
	};
	const path = PathUri.fromNative(given);
	return {files, path, given, environment: {kind: 'remote'}} as unknown as ParsedLocation;
}

test('no name is taken that the pattern does not match or that leads elsewhere', async () => {
	const names = ['a.txt', '.bashrc', 'b.sh', '..', '.', '../c.txt', 'd/e.txt', '/etc/f.txt'];
	const found = async (pattern: string) =>
		(await expandPattern(placeOn(names, pattern))).map(({given, isMatched}) => (isMatched ? given : 'nothing'));
	expect(await found('/srv/*.txt')).toEqual(['/srv/a.txt']);
	expect(await found('/srv/.*')).toEqual(['/srv/.bashrc']);
	expect(await found('/srv/[')).toEqual(['nothing']);
});
