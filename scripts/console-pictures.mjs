// Takes pictures of every view of the web console, light and dark, on a desktop and on a phone, for docs/images. Needs
// `npm run build` and a Chromium (CHROMIUM_BIN). Each file shows the four variants of one view side by side.
import {spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {chromium} from 'playwright-core';

const BROWSER = process.env.CHROMIUM_BIN ?? '/usr/bin/chromium';
const PROGRAM = new URL('../dist/bin/longarm.js', import.meta.url).pathname;
const OUT = process.argv[2] ?? new URL('../docs/images', import.meta.url).pathname;
const DESKTOP = {width: 1120, height: 700};
const PHONE = {width: 390, height: 700};
const FLAGS = [
	'--no-sandbox',
	'--disable-gpu',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
];

const scratch = mkdtempSync(join(tmpdir(), 'longarm-pictures-'));
const home = join(scratch, 'home');
mkdirSync(join(home, 'project/src'), {recursive: true});
const env = {
	...process.env,
	HOME: home,
	XDG_STATE_HOME: join(home, '.local/state'),
	PS1: '$ ',
	LONGARM_ENVIRONMENT: '',
};
const children = [];

/** Starts `longarm` and settles with the first lines it prints. */
function longarm(args, lines = 1) {
	const child = spawn(process.execPath, [PROGRAM, ...args], {env, cwd: home, stdio: ['ignore', 'pipe', 'pipe']});
	children.push(child);
	return new Promise((resolve, reject) => {
		let text = '';
		child.stdout.on('data', data => {
			text += data;
			if (text.split('\n').length > lines) resolve(text.trim().split('\n'));
		});
		child.on('exit', code =>
			code === 0 ? resolve(text.trim().split('\n')) : reject(new Error(`${args} ended with ${code}`)),
		);
	});
}

const TESTS = `
for i in $(seq 1 9); do
  printf '\\033[32m PASS \\033[0m test/part-%s.test.ts \\033[2m(%s tests)\\033[0m\\n' $i $((i*3))
  sleep 0.2
done
printf '\\033[41;97m FAIL \\033[0m test/part-10.test.ts\\n  \\033[31mexpected 3 to be 4\\033[0m\\n\\n'
printf 'Update the snapshot? [y/N] '
read answer
sleep 600
`;

async function prepare(url) {
	const detached = (name, ...rest) => longarm(['run', '-d', '-e', url, '--name', name, ...rest]);
	await detached('tests', '-t', '--record', '--label', 'team=web', '--', 'bash', '-c', TESTS);
	await detached(
		'server',
		'--',
		'bash',
		'-c',
		'for i in $(seq 1 40); do echo "GET /items/$i 200 $((i%7+2)) ms"; done; sleep 600',
	);
	await detached('deploy', '-t', '--', 'bash', '-c', 'read -sp "Password: " x; sleep 600');
	await detached('lint', '--', 'bash', '-c', 'echo ok');
	await detached('types', '--', 'bash', '-c', 'echo "src/app.ts(3,1): error"; exit 2');
	writeFileSync(join(home, 'project/README.md'), '# Project\n\nA small example.\n\n- one\n- two\n');
	writeFileSync(join(home, 'project/src/app.ts'), 'export function main(): void {\n\tconsole.log("hello");\n}\n');
	writeFileSync(join(home, 'project/package.json'), '{\n\t"name": "project",\n\t"version": "1.0.0"\n}\n');
	const rows = Array.from({length: 60}, (_, index) => `host-${index + 1}.example`);
	writeFileSync(join(home, 'hosts.csv'), `host\n${rows.join('\n')}\n`);
	const job = ['fanout', 'hosts.csv', '--id-column', 'host', '--result', 'exit', '--max-concurrency', '2'];
	spawnJob([
		...job,
		'--cmd',
		'sleep 0.2; echo checked {host}; case {host} in *7.example) echo no route >&2; exit 1;; esac',
	]);
}

function spawnJob(args) {
	children.push(spawn(process.execPath, [PROGRAM, ...args], {env, cwd: home, stdio: 'ignore'}));
}

const VIEWS = {
	processes: async page => {
		await page.getByRole('link', {name: 'tests'}).waitFor();
	},
	process: async (page, machine) => {
		await open(page, `#/${machine}/process/tests`);
		await page.getByText('Take control').click();
		await page.getByText('you drive').waitFor();
		await page.waitForTimeout(800);
	},
	timeline: async (page, machine) => {
		await open(page, `#/${machine}/process/tests`);
		const slider = page.getByLabel('Moment to show');
		await slider.waitFor();
		await slider.fill('1000');
		await page.waitForTimeout(1200);
	},
	log: async (page, machine) => {
		await open(page, `#/${machine}/process/server`);
		await page.getByText('watching').first().waitFor();
		await page.waitForTimeout(800);
	},
	files: async (page, machine) => {
		await open(page, `#/${machine}/files/${encodeURIComponent(`file://${home}/project/package.json`)}`);
		await page.getByRole('region', {name: 'Content'}).waitFor();
	},
	ports: async (page, machine) => {
		await open(page, `#/${machine}/ports`);
		await page.getByRole('table').waitFor();
	},
	job: async (page, machine) => {
		await open(page, `#/${machine}/jobs`);
		await page.getByRole('link', {name: 'hosts.csv'}).click();
		await page.getByRole('table', {name: 'Items'}).waitFor();
		await page.getByRole('button', {name: 'host-7.example'}).click();
		await page.waitForTimeout(500);
	},
	metrics: async (page, machine) => {
		await open(page, `#/${machine}/metrics`);
		await page.waitForTimeout(13_000);
	},
};

async function open(page, hash) {
	await page.evaluate(to => {
		location.hash = to;
	}, hash);
}

async function takePictures(browser, link, views) {
	const pictures = new Map(Object.keys(views).map(name => [name, []]));
	const [address, secret] = link.split('#');
	let cookies;
	for (const viewport of [DESKTOP, PHONE]) {
		for (const colorScheme of ['light', 'dark']) {
			const isPhone = viewport === PHONE;
			const context = await browser.newContext({viewport, colorScheme, hasTouch: isPhone, isMobile: isPhone});
			if (cookies) await context.addCookies(cookies);
			const page = await context.newPage();
			await page.goto(cookies ? address : `${address}#${secret}`);
			await page.waitForSelector('main');
			for (const [name, show] of Object.entries(views)) {
				await show(page, 'here');
				pictures.get(name).push({viewport, data: (await page.screenshot()).toString('base64')});
				if (name === 'process') await page.getByText('Give back').click();
			}
			cookies ??= await context.cookies();
			await context.close();
		}
	}
	return pictures;
}

/** The four variants of one view in one picture, at half size. */
async function join4(browser, name, variants) {
	const page = await browser.newPage({viewport: {width: 1560, height: 740}, deviceScaleFactor: 0.75});
	const images = variants.map(({viewport, data}) => {
		const width = viewport === DESKTOP ? 560 : 195;
		return `<img style="width:${width}px;border:1px solid #8888;border-radius:6px" src="data:image/png;base64,${data}">`;
	});
	await page.setContent(
		`<body style="margin:8px;background:#e9ebea"><div id="all" style="display:inline-flex;gap:8px">${images.join('')}</div>`,
	);
	await page.locator('#all').screenshot({path: join(OUT, `console-${name}.png`)});
	await page.close();
}

const browser = await chromium.launch({executablePath: BROWSER, args: FLAGS, timeout: 120_000});
try {
	const [url, link] = await longarm(['serve', '--console', '--listen', 'ws://127.0.0.1:0'], 2);
	await prepare(url);
	await new Promise(resolve => setTimeout(resolve, 3000));
	const only = process.argv[3]?.split(',');
	const views = Object.fromEntries(Object.entries(VIEWS).filter(([name]) => !only || only.includes(name)));
	mkdirSync(OUT, {recursive: true});
	for (const [name, variants] of await takePictures(browser, link, views)) {
		if (process.env.PICTURES_RAW) {
			for (const [index, {data}] of variants.entries())
				writeFileSync(join(OUT, `${name}-${index}.png`), Buffer.from(data, 'base64'));
		} else await join4(browser, name, variants);
	}
} finally {
	await browser.close();
	for (const child of children.reverse()) child.kill();
	await new Promise(resolve => setTimeout(resolve, 1500));
	rmSync(scratch, {recursive: true, force: true});
}
