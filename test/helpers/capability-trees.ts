import {mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';

/** Contents by path below a home directory: text, a value to write as JSON, or a link to another path below it. */
export type Tree = Readonly<Record<string, string | object | {readonly link: string}>>;

export const skill = (name: string, more = ''): string =>
	`---\nname: ${name}\ndescription: about ${name}\n${more}---\nText.\n`;

export function plantTree(home: string, tree: Tree): void {
	for (const [name, content] of Object.entries(tree)) {
		const path = join(home, name);
		mkdirSync(dirname(path), {recursive: true});
		if (typeof content === 'string') writeFileSync(path, content);
		else if ('link' in content) symlinkSync(join(home, content.link), path);
		else writeFileSync(path, JSON.stringify(content));
	}
}

const SKILLS = '.codex/skills';
const CACHE = '.codex/plugins/cache';
const manifest = (plugin: string, version = '1.0.0'): string =>
	`${CACHE}/mk/${plugin}/${version}/.codex-plugin/plugin.json`;
const header = (lines: string): Tree => ({[`${SKILLS}/s/SKILL.md`]: `---\n${lines}\n---\n`});
const metadata = (lines: string): Tree => ({
	[`${SKILLS}/s/SKILL.md`]: skill('s'),
	[`${SKILLS}/s/agents/openai.yaml`]: lines,
});

/** Trees that show one rule of the discovery each. */
export const CAPABILITY_TREES: Readonly<Record<string, Tree>> = {
	'both homes of skills, in folders of any depth up to six': {
		[`${SKILLS}/SKILL.md`]: skill('root'),
		[`${SKILLS}/one/SKILL.md`]: skill('one'),
		[`${SKILLS}/one/inner/SKILL.md`]: skill('inner'),
		[`${SKILLS}/.hidden/h/SKILL.md`]: skill('hidden'),
		[`${SKILLS}/a/b/c/d/e/f/SKILL.md`]: skill('deep'),
		[`${SKILLS}/a/b/c/d/e/f/g/SKILL.md`]: skill('too-deep'),
		[`${SKILLS}/a b%é/SKILL.md`]: '---\ndescription: named after its folder\n---\n',
		'.agents/skills/one/SKILL.md': skill('one'),
		'.agents/skills/lower/skill.md': skill('lower'),
		'project/.agents/skills/p/SKILL.md': skill('p'),
	},
	'links to folders are followed once, and links to files are not': {
		'elsewhere/SKILL.md': skill('elsewhere'),
		[`${SKILLS}/by-link`]: {link: 'elsewhere'},
		[`${SKILLS}/again`]: {link: 'elsewhere'},
		[`${SKILLS}/file/SKILL.md`]: {link: 'elsewhere/SKILL.md'},
		[`${SKILLS}/dangling`]: {link: 'nowhere'},
		[`${SKILLS}/loop/loop`]: {link: SKILLS},
	},
	'skills that cannot be understood are warned about, once for each home': {
		[`${SKILLS}/none/SKILL.md`]: 'no header',
		[`${SKILLS}/open/SKILL.md`]: '---\nname: a\ndescription: b\n',
		[`${SKILLS}/undescribed/SKILL.md`]: '---\nname: a\n---\n',
		[`${SKILLS}/twice/SKILL.md`]: '---\nname: a\nname: b\ndescription: c\n---\n',
		[`${SKILLS}/long/SKILL.md`]: skill('n'.repeat(65)),
		[`${SKILLS}/mark/SKILL.md`]: `\uFEFF${skill('mark')}`,
		[`${SKILLS}/list/SKILL.md`]: '---\n- a\n---\n',
		[`${SKILLS}/large/SKILL.md`]: skill('large') + 'x'.repeat(1024 * 1024),
		[`${SKILLS}/good/SKILL.md`]: skill('n'.repeat(64)),
		'.agents/skills/none/SKILL.md': '',
	},
	'plain texts, comments and numbers': header('# c\nname: 12 # c\ndescription: a#b "c" use: when\nother: [x] [y]'),
	'texts over several lines': header('name: a\ndescription: first\n  second\n\n  third\nlicense: MIT'),
	'folded blocks': header('description: >-\n  folded\n  text\n\n  more\nname: a'),
	'literal blocks': header('description: |\n  line one\n    line two\nname: a'),
	'quoted texts': header(`name: 'it''s'\ndescription: "tab\\tq\\" \\u00e9 # no comment" # c`),
	'empty names': header('name: ~\ndescription: d\nmetadata:'),
	'short descriptions and lists': header(
		'name: a\ndescription: d\nmetadata:\n  short-description: sd\ntools:\n- a\n- b: c\n  d: e\nallowed: [a, "b, c"]',
	),
	'carriage returns': {[`${SKILLS}/s/SKILL.md`]: skill('s').replaceAll('\n', '\r\n')},
	'tools and policies': metadata(
		'interface:\n  display_name: "X"\ndependencies:\n  tools:\n    - type: mcp\n      value: "a  b"\n      url: http://x\n' +
			'      oauth:\n        callback_port: 99\n    - value: untyped\npolicy:\n  allow_implicit_invocation: false\n' +
			'  products: [codex, CHATGPT]\n',
	),
	'empty tools and policies': metadata('dependencies:\n  tools: []\npolicy: {}\n'),
	'empty metadata': metadata(''),
	'names of plugins before those of skills': {
		'.codex/.codex-plugin/plugin.json': {name: 'outer'},
		[`${SKILLS}/a/SKILL.md`]: skill('a'),
		[`${SKILLS}/b/.claude-plugin/plugin.json`]: {},
		[`${SKILLS}/b/c/SKILL.md`]: skill('c'),
		[`${SKILLS}/d/.codex-plugin/plugin.json`]: 'no JSON',
		[`${SKILLS}/d/SKILL.md`]: skill('d'),
	},
	'the newest version of each plugin, by id': {
		[manifest('plain', '0.9.0')]: {name: 'old'},
		[manifest('plain', '1.2.0-beta')]: {name: 'beta'},
		[manifest('plain', '1.10.0')]: {name: 'new'},
		[manifest('plain-x')]: {name: 'x', interface: {displayName: ' Shown '}},
		[manifest('local', '9.0.0')]: {name: 'released'},
		[manifest('local', 'local')]: {name: 'developed'},
		[manifest('words', 'main')]: {description: 'no name'},
		[manifest('words', 'dev')]: {name: 'dev'},
		[`${CACHE}/other/plain/1.0.0/.cursor-plugin/plugin.json`]: {name: 'plain'},
		[manifest('not a name')]: {name: 'p'},
		[manifest('.dot')]: {name: 'p'},
		[manifest('version', 'not a version')]: {name: 'p'},
		[`${CACHE}/file`]: '',
		'elsewhere/1.0.0/.codex-plugin/plugin.json': {name: 'linked'},
		[`${CACHE}/mk/linked`]: {link: 'elsewhere'},
		[`${CACHE}/mk/linked-version/1.0.0`]: {link: 'elsewhere/1.0.0'},
	},
	'files and skills of plugins': {
		[manifest('usual')]: {name: 'usual'},
		[`${CACHE}/mk/usual/1.0.0/.mcp.json`]: {mcpServers: {}},
		[`${CACHE}/mk/usual/1.0.0/.app.json`]: {apps: {}},
		[`${CACHE}/mk/usual/1.0.0/anywhere/s/SKILL.md`]: skill('s'),
		[manifest('declared')]: {name: 'declared', mcpServers: './conf/mcp.json', apps: './apps.json'},
		[`${CACHE}/mk/declared/1.0.0/conf/mcp.json`]: 'mcp',
		[`${CACHE}/mk/declared/1.0.0/apps.json`]: 'apps',
		[manifest('inline')]: {name: 'inline', mcpServers: {z: {command: 'x'}, a: {}}},
		[manifest('list')]: {name: 'list', mcpServers: ['./x.json']},
		[`${CACHE}/mk/list/1.0.0/.mcp.json`]: '{}',
		[manifest('remote')]: {name: 'remote'},
		[`${CACHE}/mk/remote/.codex-remote-plugin-install.json`]: {schema_version: 1, remote_plugin_id: ' id '},
	},
	'plugins that cannot be understood': {
		[`${CACHE}/mk/no-manifest/1.0.0/s/SKILL.md`]: skill('s'),
		[manifest('no-json')]: '{',
		[manifest('array')]: '[]',
		[manifest('number')]: {name: 7},
		[manifest('apps')]: {name: 'apps', apps: {}},
		[manifest('missing')]: {name: 'missing', mcpServers: './missing.json'},
		[manifest('outside')]: {name: 'outside', mcpServers: '../x.json', apps: '/etc/hostname'},
		[`${CACHE}/mk/outside/1.0.0/.mcp.json`]: '{}',
		[manifest('skills')]: {name: 'skills'},
		[`${CACHE}/mk/skills/1.0.0/s/SKILL.md`]: 'none',
		[`${CACHE}/mk/skills/1.0.0/t/SKILL.md`]: skill('t'),
		[manifest('remote')]: {name: 'remote'},
		[`${CACHE}/mk/remote/.codex-remote-plugin-install.json`]: {schema_version: 2, remote_plugin_id: 'id'},
	},
};
