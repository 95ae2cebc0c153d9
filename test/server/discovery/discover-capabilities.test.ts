import {chmodSync, mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {beforeAll, describe, expect, test} from 'vitest';
import {CAPABILITY_TREES, plantTree, skill, type Tree} from '../../helpers/capability-trees.js';
import {describeEnforcers} from '../../helpers/enforcers.js';
import {isRoot, unless} from '../../helpers/needs.js';
import {ownCommand} from '../../helpers/own-command.js';
import {outcomeOf} from '../../helpers/process-api.js';
import {at, policy, root} from '../../helpers/sandboxes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

interface Found {
	readonly plugins: {readonly id: string; readonly displayName: string; readonly version: string}[];
	readonly skills: {readonly name: string; readonly discoveryRoot: {readonly id: string}}[];
	readonly warnings: string[];
}

const INCOMPLETE = 'some capability metadata could not be loaded; discovery may be incomplete';
const discover = (client: TestClient, sandbox?: object): Promise<Found> =>
	client.call<Found>('capabilities/discoverV2', {cwd: 'file:///nowhere', sandbox});

async function homeWith(tree: Tree) {
	const HOME = scratchDirectory();
	plantTree(HOME, tree);
	const client = await TestClient.overMemory(
		execServer({variables: {HOME, CODEX_HOME: join(HOME, '.codex')}}),
	).initialize();
	return {HOME, client};
}

test('skills are found with everything their files say', async () => {
	const {HOME, client} = await homeWith(CAPABILITY_TREES['tools and policies']!);
	const uri = (path: string) => pathToFileURL(join(HOME, path)).href;
	expect(await discover(client)).toEqual({
		plugins: [],
		skills: [
			{
				name: 's',
				description: 'about s',
				shortDescription: null,
				path: uri('.codex/skills/s/SKILL.md'),
				discoveryRoot: {id: 'codex-home-skills', path: uri('.codex/skills')},
				dependencies: {
					tools: [
						{
							type: 'mcp',
							value: 'a b',
							description: null,
							transport: null,
							command: null,
							url: 'http://x',
							oauthCallbackPort: 99,
						},
					],
				},
				policy: {allowImplicitInvocation: false, products: ['codex', 'chatgpt']},
			},
		],
		warnings: [],
	});
});

test('skills come by home and path, and skills of projects are left to the client', async () => {
	const {client} = await homeWith(CAPABILITY_TREES['both homes of skills, in folders of any depth up to six']!);
	const {skills, warnings} = await discover(client);
	expect(skills.map(({name, discoveryRoot}) => `${discoveryRoot.id} ${name}`)).toEqual([
		'codex-home-skills hidden',
		'codex-home-skills root',
		'codex-home-skills a b%é',
		'codex-home-skills deep',
		'codex-home-skills one',
		'codex-home-skills inner',
		'user-agent-skills one',
	]);
	expect(warnings).toEqual([]);
});

test('plugins are found in their newest version', async () => {
	const {client} = await homeWith(CAPABILITY_TREES['the newest version of each plugin, by id']!);
	const {plugins, warnings} = await discover(client);
	expect(plugins.map(({id, displayName, version}) => [id, displayName, version])).toEqual([
		['linked@mk', 'linked', '1.0.0'],
		['local@mk', 'developed', 'local'],
		['plain-x@mk', 'Shown', '1.0.0'],
		['plain@mk', 'new', '1.10.0'],
		['plain@other', 'plain', '1.0.0'],
		['words@mk', 'main', 'main'],
	]);
	expect(warnings).toEqual([]);
});

test('an empty home is no reason for a warning', async () => {
	const {client} = await homeWith({});
	expect(await discover(client)).toEqual({plugins: [], skills: [], warnings: []});
});

test('a search that reaches a limit is told as incomplete', async () => {
	const {HOME, client} = await homeWith({'.codex/skills/a/SKILL.md': skill('a')});
	for (let count = 0; count < 2000; count++) mkdirSync(join(HOME, `.codex/skills/empty-${count}`));
	const {skills, warnings} = await discover(client);
	expect([skills.length, warnings]).toEqual([1, [INCOMPLETE]]);
});

test(
	'files that may not be read are told as incomplete',
	unless(isRoot ? 'root may read everything' : undefined),
	async () => {
		const {HOME, client} = await homeWith({
			'.codex/skills/a/SKILL.md': skill('a'),
			'.agents/skills/b/SKILL.md': skill('b'),
		});
		chmodSync(join(HOME, '.codex/skills/a/SKILL.md'), 0);
		chmodSync(join(HOME, '.agents/skills/b'), 0);
		expect(await discover(client)).toMatchObject({skills: [], warnings: [INCOMPLETE, INCOMPLETE]});
	},
);

test.each([
	['anchors', 'name: &x a\ndescription: *x'],
	['collections in collections', 'name: a\ndescription: d\nmetadata: {short-description: [a]}'],
])('a header with %s is told as incomplete, and not guessed', async (_, lines) => {
	const {client} = await homeWith({'.codex/skills/a/SKILL.md': `---\n${lines}\n---\n`});
	expect(await discover(client)).toEqual({plugins: [], skills: [], warnings: [INCOMPLETE]});
});

test('a policy that is not understood is told, and the skill is still found', async () => {
	const {client} = await homeWith({
		'.codex/skills/a/SKILL.md': skill('a'),
		'.codex/skills/a/agents/openai.yaml': 'policy: {products: [codex]}',
	});
	expect(await discover(client)).toMatchObject({skills: [{name: 'a', policy: null}], warnings: [INCOMPLETE]});
});

test('only a token for files finds capabilities', async () => {
	const server = execServer();
	const grant = {name: 'driver', scopes: ['drive'] as const};
	const client = await TestClient.overMemory(server, grant).initialize();
	expect(await outcomeOf(discover(client))).toMatchObject({code: expect.any(Number) as number});
	expect(await outcomeOf(discover(await TestClient.overMemory(server).initialize()))).toBe('accepted');
});

describe('in a sandbox', () => {
	let command: readonly string[];
	beforeAll(async () => {
		const built = await ownCommand();
		command = built.command;
		return built.remove;
	});

	describeEnforcers('capabilities are found', sandboxEnforcer => {
		test('as far as its policy shows them, with the home of the server', async () => {
			const HOME = scratchDirectory();
			plantTree(HOME, {'.codex/skills/a/SKILL.md': skill('a'), '.agents/skills/b/SKILL.md': skill('b')});
			const options = {ownCommand: command, sandboxEnforcer, variables: {...process.env, HOME, CODEX_HOME: undefined}};
			const client = await TestClient.overMemory(execServer(options)).initialize();
			const names = async (sandbox: object) => (await discover(client, sandbox)).skills.map(({name}) => name);
			expect(await names(policy([root('read')]))).toEqual(['a', 'b']);
			expect(await names(policy([at(join(HOME, '.agents'), 'read')]))).toEqual(['b']);
		});
	});
});
