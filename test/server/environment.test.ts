import {homedir, hostname, tmpdir} from 'node:os';
import {resolve} from 'node:path';
import {afterEach, expect, test, vi} from 'vitest';
import {describeEnvironment} from '../../src/adapters/environment-info.js';
import {METHODS} from '../../src/protocol/methods/method-table.js';
import {decode} from '../../src/protocol/wire/decode.js';
import {VERSION} from '../../src/shared/version.js';
import {uri} from '../helpers/files.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

afterEach(() => {
	vi.unstubAllEnvs();
});

function client(): Promise<TestClient> {
	return TestClient.overMemory(execServer()).initialize();
}

test('the machine describes itself the same in the handshake and when asked', async () => {
	const server = execServer({variables: {TMPDIR: '/var/tmp'}});
	const peer = TestClient.overMemory(server);
	const {environmentInfo} = await peer.call('initialize', {clientName: 'c'});
	peer.rpc.notify('initialized', {});
	const info = await peer.call('environment/info', null);
	expect(info).toEqual(environmentInfo);
	expect(info).toMatchObject({
		shell: {name: expect.stringMatching(/^(bash|zsh|sh)$/) as string, path: expect.stringMatching(/^\//) as string},
		cwd: uri(process.cwd()),
		temporaryDirectories: ['file:///var/tmp'],
		tempDir: uri(tmpdir()),
		executorVersion: VERSION,
		providerId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
		userHomeDir: uri(homedir()),
		platformOs: process.platform === 'darwin' ? 'macos' : process.platform,
		prependPathDirs: [],
	});
});

test('what it says of itself is what the protocol declares, and no capability is promised that is not there', async () => {
	const info = await (await client()).call<Record<string, Record<string, boolean>>>('environment/info');
	expect(() => decode(METHODS['environment/info'].result, info)).not.toThrow();
	const missing = Object.entries(info['capabilities']!).filter(([, there]) => !there);
	// Those of the peers that need a sandbox or its configuration, and what has to be allowed first.
	expect(missing.map(([name]) => name).sort()).toEqual([
		'capabilityDiscoverySandbox',
		'credentialMasking',
		'credentialMaskingCustomProviders',
		'linuxApprovedRootWritePreservesRestrictions',
		'linuxRootWritePreservesDevices',
		'localDaemon',
		'networkProxyLaunch',
		'networkProxyReviewDomains',
		'portForward',
		'processDurable',
		'processRecord',
		'processSpill',
		'sandboxedFileStreaming',
		'serverUpgrade',
		'windowsMxc',
	]);
});

test('the provider is the same in every server of this machine', () => {
	expect(describeEnvironment({}).providerId).toBe(describeEnvironment({A: 'b'}).providerId);
});

test('without TMPDIR there is no list of temporary directories', () => {
	expect(describeEnvironment({}).temporaryDirectories).toEqual([]);
	expect(describeEnvironment({TMPDIR: ''}).temporaryDirectories).toEqual([]);
});

test('a relative TMPDIR is taken from the working directory', () => {
	vi.stubEnv('TMPDIR', 'relative');
	const expected = uri(resolve('relative'));
	expect(describeEnvironment(process.env)).toMatchObject({temporaryDirectories: [expected], tempDir: expected});
});

test.each(['relative', ''])('a home of %j does not keep the server from starting', home => {
	vi.stubEnv('HOME', home);
	expect(describeEnvironment({}).userHomeDir ?? 'file:///').toMatch(/^file:\/\/\//);
});

test('the status is that it is ready', async () => {
	expect(await (await client()).call('environment/status', {})).toEqual({status: 'ready'});
});

test('there is no configuration to read, and asking for nothing is an error', async () => {
	const peer = await client();
	const read = (configPaths: string[][], requirementsPaths: string[][]) =>
		peer.call('environmentConfig/read', {cwd: 'file:///', configPaths, requirementsPaths});
	const nothing = {layers: [], cloudInsertionIndex: 0};
	expect(await read([['mcp_servers']], [])).toEqual({
		userHomeDir: uri(homedir()),
		codexHomeDir: uri(`${homedir()}/.codex`),
		hostname: hostname(),
		config: nothing,
		requirements: nothing,
	});
	await expect(read([], [])).rejects.toMatchObject({
		code: -32602,
		message: 'at least one config or requirements path is required',
	});
	await expect(read([], [[]])).rejects.toMatchObject({
		code: -32602,
		message: 'TOML paths must contain at least one key segment',
	});
});
