import {afterEach, expect, test, vi} from 'vitest';
import type {EnforcerChoice} from '../../src/sandbox/enforcer.js';
import {unless} from '../helpers/needs.js';
import {noSandbox} from '../helpers/sandboxes.js';

const COMMAND = {
	program: '/bin/true',
	args: [],
	arg0: undefined,
	cwd: '/',
	terminal: false,
	environment: new Map<string, string>(),
};

afterEach(() => {
	vi.doUnmock('../../src/sandbox/trusted-program.js');
	vi.doUnmock('../../src/sandbox/native/trial-run.js');
	vi.resetModules();
});

/** The sandbox of a machine without bubblewrap, on which launchers fail for this reason or work. */
async function bareSandbox(choice: EnforcerChoice, launcherProblem?: string) {
	vi.resetModules();
	vi.doMock('../../src/sandbox/trusted-program.js', () => ({
		findTrustedProgram: () => ({why: '`/usr/bin/bwrap` was not found'}),
	}));
	if (launcherProblem !== undefined) {
		vi.doMock('../../src/sandbox/native/trial-run.js', async original => ({
			...(await original<object>()),
			tryLauncher: () => launcherProblem,
		}));
	}
	const {Sandbox} = await import('../../src/sandbox/sandbox.js');
	const sandbox = new Sandbox({}, () => [], choice);
	return {sandbox, wrap: () => sandbox.wrap({mounts: [{kind: 'read', path: '/'}], network: 'none'}, COMMAND)};
}

test('bubblewrap is the first choice', unless(noSandbox('bubblewrap')), async () => {
	const {Sandbox} = await import('../../src/sandbox/sandbox.js');
	const {file} = new Sandbox({}).wrap({mounts: [{kind: 'read', path: '/'}], network: 'none'}, COMMAND);
	expect(file).toMatch(/bwrap$/);
});

test('a machine without bubblewrap uses a launcher of its own', unless(noSandbox('namespaces')), async () => {
	const {sandbox, wrap} = await bareSandbox('auto');
	expect(sandbox.isLikelyAvailable).toBe(true);
	expect(wrap()).toMatchObject({file: '/proc/self/fd/3', isInMemory: true, hasOwnSession: true});
	expect(sandbox.isLikelyAvailable).toBe(true);
});

test('a choice that does not work is refused and replaced by no other', async () => {
	const {sandbox, wrap} = await bareSandbox('bubblewrap');
	expect(wrap).toThrow(/`\/usr\/bin\/bwrap` was not found \(install bubblewrap/);
	expect(sandbox.isLikelyAvailable).toBe(false);
});

test('a machine on which nothing works says why for each', async () => {
	const {sandbox, wrap} = await bareSandbox('auto', 'make namespaces: Operation not permitted (os error 1)');
	expect(wrap).toThrow(/`\/usr\/bin\/bwrap` was not found; make namespaces: Operation not permitted/);
	expect(sandbox.isLikelyAvailable).toBe(false);
});
