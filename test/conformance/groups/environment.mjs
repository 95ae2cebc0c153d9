// environment/info and environment/status: what the executor is, and that it is there.
import {equal, isError, match, ok} from '../lib/check.mjs';
import {run, sh, uri} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';

export const tests = group('environment', ({current}) => {
	current('status is ready', async t => {
		equal(await (await t.open()).call('environment/status', {}), {status: 'ready'}, 'status');
	});

	current('info names the shell and the working directory', async t => {
		const {shell, cwd} = await (await t.open()).call('environment/info', {});
		ok(shell.name && shell.path, 'a shell with name and path');
		match(cwd, /^file:\/\/\//, 'cwd');
	});

	current('info lists capabilities as booleans', async t => {
		const {capabilities} = await (await t.open()).call('environment/info', {});
		ok(
			Object.values(capabilities).every(value => typeof value === 'boolean'),
			'only booleans',
		);
		for (const name of ['httpHeaderEnvVars', 'environmentConfigRead', 'networkProxyLaunch'])
			ok(name in capabilities, name);
	});

	current('info and status need no params', async t => {
		const peer = await t.open();
		equal(await peer.call('environment/status', null), {status: 'ready'}, 'status with null');
		equal(await peer.call('environment/status'), {status: 'ready'}, 'status without params');
		ok((await peer.call('environment/info')).shell, 'a shell without params');
	});

	current('params of another shape are invalid params', async t => {
		const peer = await t.open();
		isError(await peer.fail('environment/status', {unexpected: 1}), -32602);
		isError(await peer.fail('environment/status', 'text'), -32602);
	});

	current('initialize already carries the info', async t => {
		const peer = await t.raw();
		const {environmentInfo} = await peer.initialize();
		equal(environmentInfo, await peer.call('environment/info', {}), 'environmentInfo');
	});

	current('the shell of info can be started', async t => {
		const peer = await t.open();
		const {shell} = await peer.call('environment/info', {});
		equal((await run(peer, sh('', {argv: [shell.path, '-c', 'exit 3']}))).exitCode, 3, 'exit code');
	});

	current('info tells version, platform, home and temporary directory', async t => {
		const info = await (await t.open()).call('environment/info', {});
		match(info.executorVersion, /^\d+\.\d+\.\d+/, 'executorVersion');
		equal(info.platformOs, process.platform === 'darwin' ? 'macos' : process.platform, 'platformOs');
		for (const path of [info.userHomeDir, info.tempDir]) match(path, /^file:\/\/\//, 'directory');
		ok(Array.isArray(info.temporaryDirectories), 'a list of temporary directories');
	});

	current('environmentConfig/read without configuration returns empty layers', async t => {
		const peer = await t.open();
		const result = await peer.call('environmentConfig/read', {
			cwd: uri(t.dir()),
			configPaths: [['model']],
			requirementsPaths: [],
		});
		ok(Array.isArray(result.config.layers) && Array.isArray(result.requirements.layers), 'two lists of layers');
		isError(await peer.fail('environmentConfig/read', {}), -32602);
	});
});
