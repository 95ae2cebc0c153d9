import fs from 'node:fs';
import path from 'node:path';
import {follow, runCommand} from '../answers.mjs';
import {say} from '../model.mjs';

const PROFILE = `echo >> "$HOME/profile-runs"; export E2E_PROFILE=loaded; e2e_function() { echo "function $1"; }\n`;

/** The client asks for capabilities only where the server calls itself this version of codex or a later one. */
const ASKED_VERSION = '0.165.0';
const claimVersion = text => text.replace(/("executorVersion":")[^"]*/, `$1${ASKED_VERSION}`);

/** Files in the home of the server that reach the client. */
export const HOMES = [
	{
		name: 'p-capabilities',
		title: 'skills of the server are offered to the model',
		needsServerHome: true,
		rewrite: claimVersion,
		async run(t) {
			const files = {'skills/e2e-skill/SKILL.md': '---\nname: e2e-skill\ndescription: marker-of-a-skill\n---\nText.\n'};
			await t.withServerFiles('codex-home', files, async () => {
				const features = ['executor_capability_discovery', 'executor_capability_discovery_v2'];
				await t.exec(
					async function* () {
						const ended = yield* follow(runCommand('echo hello'));
						t.match(ended.output, /hello/);
						t.match(JSON.stringify(ended.turn.items), /marker-of-a-skill/, 'prompt (skills of the server)');
						return [say('done')];
					},
					{features},
				);
			});
			t.onWire(recorder => {
				const found = recorder.answers('capabilities/discoverV2').map(({result}) => result?.skills?.[0]?.name);
				t.equal(found[0], 'e2e-skill', 'first skill of capabilities/discoverV2');
			});
		},
	},
	{
		name: 'q-shell-snapshot',
		title: 'startup files of the server run once for several commands',
		needsServerHome: true,
		async run(t) {
			const files = {'.profile': PROFILE, '.zprofile': PROFILE, 'profile-runs': ''};
			await t.withServerFiles('home', files, async home => {
				await t.exec(
					async function* () {
						for (const number of [1, 2, 3]) {
							const ended = yield* follow(runCommand(`e2e_function ${number}; echo profile=$E2E_PROFILE`));
							t.exited(ended, 0);
							t.match(ended.output, new RegExp(`function ${number}\\s+profile=loaded`));
						}
						return [say('done')];
					},
					{features: ['shell_snapshot_v2']},
				);
				t.equal(fs.readFileSync(path.join(home, 'profile-runs'), 'utf8').length, 1, 'runs of the profile');
			});
			t.onWire(recorder => {
				const starts = recorder.requests('process/start');
				t.ok(starts.length >= 3 && starts.every(({msg}) => msg.params.shellSnapshot), 'no snapshot was asked for');
			});
		},
	},
];
