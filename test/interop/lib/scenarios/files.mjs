import fs from 'node:fs';
import path from 'node:path';
import {follow, runCommand} from '../answers.mjs';
import {custom, say} from '../model.mjs';

const PATCH = `*** Begin Patch
*** Add File: deep/er/new.txt
+fresh
+lines
*** Update File: edit.txt
@@
 one
-two
+TWO
 three
*** Update File: old.txt
*** Move to: moved/renamed.txt
@@
 alpha
-beta
+gamma
*** Delete File: gone.txt
*** End Patch
`;
const PATCH_THAT_DOES_NOT_APPLY = `*** Begin Patch
*** Update File: edit.txt
@@
-not there
+x
*** End Patch
`;
const PATCH_INSIDE = `*** Begin Patch
*** Add File: patched.txt
+ok
*** End Patch
`;

/** Files that the client changes, and those that a sandbox keeps commands from changing. */
export const FILES = [
	{
		name: 'd-apply-patch',
		title: 'apply_patch adds, edits, moves and deletes files through fs/*',
		async run(t) {
			t.write('edit.txt', 'one\ntwo\nthree\n');
			t.write('gone.txt', 'bye\n');
			t.write('old.txt', 'alpha\nbeta\n');
			await t.exec(async function* () {
				const patch = custom('apply_patch', PATCH);
				const applied = yield [patch];
				t.match(applied.output(patch), /Success|exit_code":0|Exit code: 0/i);
				const listed = yield* follow(runCommand('cat deep/er/new.txt edit.txt moved/renamed.txt; ls'));
				t.match(listed.output, /fresh\nlines\none\nTWO\nthree\nalpha\ngamma\n/);
				const bad = custom('apply_patch', PATCH_THAT_DOES_NOT_APPLY);
				const refused = yield [bad];
				t.ok(!refused.output(bad).startsWith('Success'), 'a patch that does not apply was reported as applied');
				return [say('done')];
			});
			t.equal(t.read('edit.txt'), 'one\nTWO\nthree\n', 'edit.txt');
			t.equal(t.read('deep/er/new.txt'), 'fresh\nlines\n', 'new.txt');
			t.equal(t.read('moved/renamed.txt'), 'alpha\ngamma\n', 'renamed.txt');
			const isDeleted = t.read('gone.txt') === undefined && t.read('old.txt') === undefined;
			t.ok(isDeleted, 'deleted files are still there');
			t.onWire(recorder => {
				const writes = [...recorder.requests('fs/writeFile'), ...recorder.requests('fs/writeBlock')];
				t.ok(writes.length > 0, 'no file write went over the wire');
			});
		},
	},
	{
		name: 'h-default-sandbox',
		title: 'workspace-write sandbox: writes inside pass, writes outside fail',
		needsSandbox: true,
		async run(t) {
			const outside = path.join(t.folder('outside'), 'x.txt');
			await t.exec(
				async function* () {
					const inside = yield* follow(runCommand('echo in > inside.txt && cat inside.txt'));
					t.match(inside.output, /^in$/m);
					const escaped = yield* follow(runCommand(`echo out > ${outside}`));
					t.ok(escaped.exitCode !== 0, `writing outside was allowed: ${escaped.text}`);
					const patch = custom('apply_patch', PATCH_INSIDE);
					const turn = yield [patch];
					t.match(turn.output(patch), /Success/i);
					return [say('done')];
				},
				{sandbox: 'workspace-write', tables: ['[sandbox_workspace_write]', 'exclude_slash_tmp = true']},
			);
			t.equal(t.read('inside.txt'), 'in\n', 'inside.txt');
			t.equal(t.read('patched.txt'), 'ok\n', 'patched.txt');
			t.ok(!fs.existsSync(outside), 'the file outside exists');
			t.onWire(recorder => {
				const starts = recorder.requests('process/start');
				t.ok(
					starts.every(({msg}) => msg.params.sandbox),
					'a command was sent without sandbox',
				);
			});
		},
	},
];
