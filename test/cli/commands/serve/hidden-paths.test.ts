import {resolve} from 'node:path';
import {expect, test} from 'vitest';
import {listHiddenPaths} from '../../../../src/cli/commands/serve/hidden-paths.js';
import {resolveSettings, type Settings} from '../../../../src/cli/commands/serve/serve-settings.js';

const settings = resolveSettings({flags: {}, variables: {}, file: undefined});
const hidden = (given: Partial<Settings>) => listHiddenPaths({...settings, ...given});

test('files of tokens and keys and sockets are the server’s own, by absolute paths; certificates are public', () => {
	expect(hidden({})).toEqual([]);
	expect(hidden({'ws-token-file': 'token', 'tls-key': '/etc/key.pem', 'tls-cert': '/etc/cert.pem'})).toEqual([
		resolve('token'),
		'/etc/key.pem',
	]);
	expect(hidden({'ws-tokens-file': '/t'})).toEqual(['/t']);
	expect(hidden({'tls-self-signed': true})).toEqual([expect.stringMatching(/^\/.*\/self-signed\.pem$/)]);
	expect(hidden({'ws-shared-secret-file': '/s', listen: 'unix:/run/x/socket'})).toEqual(['/s', '/run/x/socket']);
});
