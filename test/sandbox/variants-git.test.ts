import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, realpathSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {describeEnforcers} from '../helpers/enforcers.js';
import {optionalProgram} from '../helpers/needs.js';
import {at, policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const git = (cwd: string, ...args: string[]): void => {
	execFileSync(optionalProgram('git'), ['-c', 'user.name=x', '-c', 'user.email=x@x.example', ...args], {
		cwd,
		stdio: 'ignore',
	});
};

/** Writes a hook by every way there is from the inside; prints the ways that worked. */
const hookScript = (gitDirectory: string): string => `
	d=${gitDirectory}; p=$(dirname $d)
	(echo x > $d/hooks/new) 2>/dev/null && echo wrote
	(mkdir -p $d/hooks2) 2>/dev/null && echo made
	(echo x >> $d/config) 2>/dev/null && echo configured
	(mv $d $d.old) 2>/dev/null && echo moved
	(rm $d/HEAD) 2>/dev/null && echo removed
	(ln -f $d/config $p/hard && echo x >> $p/hard) 2>/dev/null && echo linked
	(mv $p $p.old) 2>/dev/null && echo "moved above"
	true`;

const GROUP = 'the metadata of a repository cannot be changed from a sandbox that may write to';
// Landlock alone refuses to protect something below what may be written to.
describeEnforcers(
	GROUP,
	sandboxEnforcer => {
		test.for([
			{where: 'the repository', roots: ['repo'], kept: 'repo/.git'},
			{where: 'a worktree and what it belongs to', roots: ['tree', 'repo'], kept: 'repo/.git/worktrees/tree'},
			{where: 'a worktree and everything above', roots: ['tree', ''], kept: 'repo/.git'},
			{where: 'a repository with its Git directory elsewhere', roots: ['apart', 'store'], kept: 'store/deep/apart.git'},
			{where: 'a nested root and the one around it', roots: ['', 'repo'], kept: 'repo/.git'},
		])('$where', async ({roots, kept}) => {
			const base = join(realpathSync(scratchDirectory()), 'base');
			for (const name of ['repo', 'store/deep', 'apart']) mkdirSync(join(base, name), {recursive: true});
			git(join(base, 'repo'), 'init');
			git(join(base, 'repo'), 'commit', '--allow-empty', '-m', 'first');
			git(join(base, 'repo'), 'worktree', 'add', join(base, 'tree'));
			git(join(base, 'apart'), 'init', '--separate-git-dir', join(base, 'store/deep/apart.git'));
			const gitDirectory = join(base, kept);
			mkdirSync(join(gitDirectory, 'hooks'), {recursive: true});
			writeFileSync(join(gitDirectory, 'config'), '', {flag: 'a'});
			const client = await TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
			const entries = [root('read'), ...roots.map(name => at(join(base, name), 'write'))];
			await client.sh('p', hookScript(gitDirectory), {sandbox: policy(entries)});
			expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: ''});
			expect(existsSync(join(gitDirectory, 'HEAD'))).toBe(true);
		});
	},
	{only: ['bubblewrap', 'namespaces'], programs: ['git']},
);
