// covers: src/mcp/server/machines/machine-limits.ts, src/client/files/confined-files.ts
import {existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Client} from '@modelcontextprotocol/client';
import {beforeAll, describe, expect, test} from 'vitest';
import type {SandboxContext} from '../../../src/client/files/files.js';
import {commandPolicy, type MachineLimits} from '../../../src/mcp/server/machines/machine-limits.js';
import {run} from '../../helpers/command.js';
import {callText, machineAt, mcpService, sdkClient, stdioClient} from '../../helpers/mcp-service.js';
import {needsSandbox} from '../../helpers/needs.js';
import {ownCommand} from '../../helpers/own-command.js';
import {at, policy, special} from '../../helpers/sandboxes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {serving} from '../../helpers/serving.js';

let command: readonly string[];
beforeAll(async () => {
	const built = await ownCommand();
	command = built.command;
	return built.remove;
});

interface Limited {
	readonly url: string;
	/** Directory of everything, outside of the root. */
	readonly outside: string;
	readonly root: string;
	/** A client of a server with limits. */
	readonly client: (limits: MachineLimits) => Promise<Client>;
}

/** A machine with a directory to be limited to, a secret beside it, and links from the one to the other. */
async function limitedPlace(): Promise<Limited> {
	const {url} = await serving({ownCommand: command, stateDirectory: scratchDirectory(), allowForward: 'loopback'});
	const outside = scratchDirectory();
	const root = join(outside, 'root');
	mkdirSync(join(root, '.git'), {recursive: true});
	writeFileSync(join(outside, 'secret'), 'secret\n');
	writeFileSync(join(root, 'file'), 'needle\n');
	symlinkSync(join(outside, 'secret'), join(root, 'link'));
	symlinkSync(outside, join(root, 'up'));
	const client = (limits: MachineLimits): Promise<Client> =>
		sdkClient(mcpService([machineAt(url, 'devbox', {}, limits)]));
	return {url, outside, root, client};
}

describe('limits', needsSandbox(), () => {
	test('with a root, file tools work inside and reach nothing outside, by no path and by no link', async () => {
		const {outside, root, client: open} = await limitedPlace();
		const client = await open({root});
		expect(await callText(client, 'read', {path: 'file'})).toMatch(/\]\nneedle$/);
		expect(await callText(client, 'write', {path: 'new/file', content: 'x'})).toMatch(/^\[written/);
		expect(readFileSync(join(root, 'new/file'), 'utf8')).toBe('x');
		expect(await callText(client, 'edit', {path: 'file', old: 'needle', new: 'needles'})).toMatch(/^\[edited/);
		expect(await callText(client, 'find', {path: '.', text: 'needles'})).toMatch(/\]\nfile:1: needles$/);
		expect(await callText(client, 'copy', {from: 'file', to: 'copy'})).toMatch(/^\[copied/);
		const forbidden = [
			['read', {path: join(outside, 'secret')}],
			['read', {path: '../secret'}],
			['read', {path: `${root}/../secret`}],
			['read', {path: 'link'}],
			['read', {path: 'up/secret'}],
			['read', {path: '/etc/passwd'}],
			['read', {path: '~/x'}],
			['write', {path: 'up/made', content: 'x'}],
			['write', {path: join(outside, 'made'), content: 'x'}],
			['write', {path: 'link', content: 'changed'}],
			['edit', {path: 'link', old: 'secret', new: 'changed'}],
			['find', {path: outside, name: '*'}],
			['copy', {from: 'up/secret', to: 'stolen'}],
			['copy', {from: 'file', to: 'up/made'}],
		] as const;
		for (const [tool, given] of forbidden) {
			expect.soft(await callText(client, tool, given), `${tool} ${JSON.stringify(given)}`).toMatch(/^ERROR /);
		}
		// The view has the directories above the root, and nothing else in them.
		expect(await callText(client, 'read', {path: 'up'})).toMatch(/1 entries\]\nroot\/$/);
		expect(await callText(client, 'find', {path: 'up', text: 'secret'})).toMatch(/ 0 matches\]$/);
		expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret\n');
		expect([existsSync(join(outside, 'made')), existsSync(join(root, 'stolen'))]).toEqual([false, false]);
	});

	test('with a root, commands begin in it, write in it, and see nothing outside but programs', async () => {
		const {outside, root, client: open} = await limitedPlace();
		const client = await open({root});
		expect(await callText(client, 'exec', {command: 'pwd; echo made > made; cat file'})).toContain(`\n${root}\nneedle`);
		expect(await callText(client, 'exec', {command: `cat ${outside}/secret || cat up/secret || cat link`})).toMatch(
			/^\[exit 1 /,
		);
		await callText(client, 'exec', {
			command: `echo x > ${outside}/made; echo x > up/made; echo x > link; rm ${outside}/secret`,
		});
		expect([existsSync(join(outside, 'made')), readFileSync(join(outside, 'secret'), 'utf8')]).toEqual([
			false,
			'secret\n',
		]);
		expect(await callText(client, 'exec', {command: 'pwd', cwd: outside})).toMatch(/^ERROR .* is outside of /);
		expect(await callText(client, 'exec', {command: 'pwd; cat secret', cwd: 'up'})).not.toMatch(/\nsecret$/);
		expect(await callText(client, 'exec', {command: 'mktemp -d /tmp/xXXX; true', keep: false})).toMatch(/^\[exit 0 /);
		expect(client.getInstructions()).toContain(`only ${root}`.slice(0, 20));
		expect((await client.listTools()).tools.map(({name}) => name)).not.toContain('port');
	});

	test('a link or a pointer that a command leaves in the place of .git shows nothing outside to the next', async () => {
		const {outside, root, client: open} = await limitedPlace();
		rmSync(join(root, '.git'), {recursive: true});
		const client = await open({root});
		for (const make of [`ln -s ${outside} .git`, `rm .git; echo "gitdir: ${outside}" > .git`]) {
			await callText(client, 'exec', {command: make});
			const read = await callText(client, 'exec', {command: `cat .git/secret ${outside}/secret; echo x > .git/made`});
			expect(read).not.toMatch(/^secret$/m);
			expect(await callText(client, 'read', {path: '.git/secret'})).toMatch(/^ERROR /);
			expect(existsSync(join(outside, 'made'))).toBe(false);
			rmSync(join(root, '.git'), {force: true});
		}
	});

	test('a call narrows the sandbox of its command and never widens that of the server', async () => {
		const {root, client: open} = await limitedPlace();
		const free = await open({});
		const write = (name: string): string => `echo x > ${root}/${name}`;
		expect(await callText(free, 'exec', {command: write('a'), sandbox: 'read-only'})).toMatch(/^\[exit 1 /);
		expect(await callText(free, 'exec', {command: write('a'), sandbox: 'workspace-write', cwd: root})).toMatch(
			/^\[exit 0 /,
		);
		expect(await callText(free, 'exec', {command: 'true', sandbox: 'readonly'})).toMatch(
			/^ERROR sandbox: expected read-only or workspace-write, not "readonly"; did you mean `read-only`\?/,
		);
		const rooted = await open({root});
		expect(await callText(rooted, 'exec', {command: write('b'), sandbox: 'read-only'})).toMatch(/^\[exit 1 /);
		expect(await callText(rooted, 'exec', {command: 'echo x > .git/b', sandbox: 'workspace-write'})).toMatch(
			/^\[exit 1 /,
		);
		expect(await callText(rooted, 'exec', {command: 'echo x > .git/b'})).toMatch(/^\[exit 0 /);
		const reading = await open({sandbox: 'read-only'});
		expect(await callText(reading, 'exec', {command: write('c'), cwd: root})).toMatch(/^\[exit 1 /);
		expect(await callText(reading, 'exec', {command: write('c'), cwd: root, sandbox: 'workspace-write'})).toMatch(
			/^ERROR .* this server is limited to read-only/,
		);
		expect(await callText(reading, 'write', {path: `${root}/c`, content: 'x'})).toMatch(
			/^ERROR .*Read-only file system/,
		);
		expect(await callText(reading, 'read', {path: `${root}/file`})).toMatch(/\]\nneedle$/);
	});

	test('the directory of a call is no workspace of a server with workspace-write', async () => {
		const {root, client: open} = await limitedPlace();
		const client = await open({sandbox: 'workspace-write', root});
		expect(await callText(client, 'exec', {command: 'echo x > made'})).toMatch(/^\[exit 0 /);
		expect(await callText(client, 'write', {path: '.git/config', content: 'x'})).toMatch(/^ERROR /);
		const asked = {sandbox: undefined, cwd: '/home/me'};
		const place = {root: undefined, workspace: '/srv/app'};
		expect(commandPolicy({sandbox: 'workspace-write'}, place, asked)).toMatchObject({
			cwd: 'file:///srv/app',
			workspaceRoots: ['file:///srv/app'],
		});
		const own = policy([special({kind: 'project_roots'}, 'write')]) as SandboxContext;
		expect(commandPolicy({sandbox: own}, place, asked)).toMatchObject({cwd: 'file:///srv/app'});
	});

	test('a policy of its own holds for files and commands, and a call makes it read-only', async () => {
		const {outside, root, client: open} = await limitedPlace();
		const sandbox = policy([special({kind: 'minimal'}, 'read'), at(root, 'write')]) as MachineLimits['sandbox'];
		const client = await open({sandbox});
		expect(await callText(client, 'exec', {command: 'echo x > made', cwd: root})).toMatch(/^\[exit 0 /);
		expect(await callText(client, 'exec', {command: 'echo x > made', cwd: root, sandbox: 'read-only'})).toMatch(
			/^\[exit 1 /,
		);
		expect(await callText(client, 'exec', {command: 'true', cwd: root, sandbox: 'workspace-write'})).toMatch(/^ERROR /);
		expect(await callText(client, 'read', {path: join(outside, 'secret')})).toMatch(/^ERROR /);
	});

	test('processes that were started without the limits are neither listed nor typed into', async () => {
		const {outside, root, client: open} = await limitedPlace();
		const free = await open({});
		await callText(free, 'exec', {command: 'bash', tty: true, name: 'free', wait_s: 0});
		const client = await open({root});
		await callText(client, 'exec', {command: 'sleep 1000', name: 'own', wait_s: 0});
		const listed = await callText(client, 'ps', {all: true});
		expect(listed).toContain('own · running');
		expect(listed).not.toContain('free');
		for (const id of ['free', 'devbox.free']) {
			expect(await callText(client, 'send', {id, text: `touch ${outside}/made\n`})).toMatch(
				/^ERROR no process has the id/,
			);
			expect(await callText(client, 'stop', {id})).toMatch(/^ERROR no process has the id/);
			expect(await callText(client, 'logs', {id})).toMatch(/^ERROR no process has the id/);
		}
		const later = await open({root});
		expect(await callText(later, 'stop', {id: 'own'})).toMatch(/^\[ended/);
		await callText(free, 'stop', {id: 'free'});
	});
});

test('limits that the machine cannot enforce refuse commands and files', async () => {
	const {url} = await serving({ownCommand: command, stateDirectory: scratchDirectory()});
	const path = join(scratchDirectory(), 'file');
	writeFileSync(path, 'x');
	const sandbox = policy([special({kind: 'unknown', path: ':x'}, 'read')]) as SandboxContext;
	const client = await sdkClient(mcpService([machineAt(url, 'devbox', {}, {sandbox})]));
	expect(await callText(client, 'exec', {command: 'true'})).toMatch(/^ERROR .*cannot be enforced/);
	expect(await callText(client, 'read', {path})).toMatch(/^ERROR .*cannot be enforced/);
});

test('a root that is no directory is an error that names it', async () => {
	const {url} = await serving({stateDirectory: scratchDirectory()});
	for (const root of ['/', '/etc/passwd', '/none']) {
		const client = await sdkClient(mcpService([machineAt(url, 'devbox', {}, {root})]));
		expect(await callText(client, 'exec', {command: 'true'})).toMatch(new RegExp(`^ERROR .*${root}`));
	}
});

test('the command takes the limits, and refuses those that cannot be meant', needsSandbox(), async () => {
	const {url} = await serving({ownCommand: command, stateDirectory: scratchDirectory()});
	const root = scratchDirectory();
	writeFileSync(join(root, 'file'), 'inside\n');
	const {client} = await stdioClient(url, '--root', root, '--sandbox', 'read-only');
	expect(await callText(client, 'exec', {command: 'cat file; touch made'})).toMatch(/^\[exit 1 .*\]\ninside\n/);
	expect(await callText(client, 'read', {path: 'file'})).toMatch(/\]\ninside$/);
	expect(await callText(client, 'write', {path: 'made', content: 'x'})).toMatch(/^ERROR /);
	const file = join(root, 'policy.json');
	writeFileSync(file, JSON.stringify(policy([special({kind: 'minimal'}, 'read')])));
	const refused = [
		[['--network'], '--network goes with --sandbox or --root'],
		[['--sandbox', 'readonly'], 'neither read-only nor workspace-write nor a file that can be read; did you mean'],
		[['--sandbox', file, '--root', root], 'a policy of your own says it itself'],
	] as const;
	for (const [args, message] of refused) {
		const {code, stderr} = await run(['mcp', '-e', url, ...args], {});
		expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
	}
});
