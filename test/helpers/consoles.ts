import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page} from 'playwright-core';
import {onTestFinished} from 'vitest';
import {Command, type Finished, run} from './command.js';
import {findProgram} from './needs.js';
import {scratchDirectory} from './scratch.js';
import {fileWith, sha256} from './tokens.js';

export const BROWSER = process.env['CHROMIUM_BIN'] ?? findProgram('chromium') ?? 'chromium';

/** The built server with its console, and a home of its own; ended with the test. */
export class ConsoleServer {
	readonly home: string;
	readonly server: Command;
	/** Address of the protocol. */
	readonly url: string;
	/** Address for a browser; without tokens it logs one in, once. */
	readonly link: string;
	readonly env: Record<string, string>;

	static async start(flags: readonly string[] = [], env: Record<string, string> = {}): Promise<ConsoleServer> {
		const home = scratchDirectory();
		const all = {HOME: home, XDG_STATE_HOME: join(home, '.local/state'), ...env};
		mkdirSync(join(home, '.local/state'), {recursive: true});
		const server = new Command(['serve', '--console', '--listen', 'ws://127.0.0.1:0', ...flags], {env: all});
		return ConsoleServer.of(server, home, all);
	}

	/** Of a server that was started already. */
	static async of(server: Command, home: string, env: Record<string, string>): Promise<ConsoleServer> {
		await server.until(() => server.stdout.split('\n').length > 2, 'both addresses');
		const [url, link] = server.stdout.trim().split('\n');
		return new ConsoleServer(server, home, env, url!, link!);
	}

	private constructor(server: Command, home: string, env: Record<string, string>, url: string, link: string) {
		this.server = server;
		this.home = home;
		this.env = env;
		this.url = url;
		this.link = link;
	}

	/** `http://127.0.0.1:PORT`. */
	get origin(): string {
		return new URL(this.link).origin;
	}

	longarm(command: string, ...args: string[]): Promise<Finished> {
		return run([command, '-e', this.url, ...args], this.env);
	}

	/** Starts a process that stays; its id. */
	async detached(...args: string[]): Promise<string> {
		const {code, stdout, stderr} = await this.longarm('run', '-d', ...args);
		if (code !== 0) throw new Error(stderr);
		return stdout.trim();
	}

	/** Exchanges a secret for a cookie, as the page does. */
	async logIn(
		body: object = {link: this.link.split('#login=')[1]},
		headers: Record<string, string> = {},
	): Promise<Response> {
		return fetch(`${this.origin}/console/login`, {
			method: 'POST',
			headers: {'content-type': 'application/json', origin: this.origin, ...headers},
			body: JSON.stringify(body),
		});
	}
}

export const OWNER_TOKEN = 'a token of the owner, long enough';

/** A server with a token, so that several browsers can log in. */
export async function startWithToken(): Promise<ConsoleServer> {
	const tokens = fileWith(`[[tokens]]\nname = "ann"\nsha256 = "${sha256(OWNER_TOKEN)}"\n`, 'tokens.toml');
	return ConsoleServer.start(['--ws-auth', 'capability-token', '--ws-tokens-file', tokens], {
		LONGARM_EXEC_SERVER_TOKEN: OWNER_TOKEN,
	});
}

/** A browser without a window; closed with the tests of the file. */
export async function openBrowser(): Promise<Browser> {
	return chromium.launch({
		executablePath: BROWSER,
		// A busy machine may take its time; what hangs is the test's own limit to tell.
		timeout: 0,
		args: [
			'--no-sandbox',
			'--disable-gpu',
			'--disable-quic',
			'--no-first-run',
			'--disable-background-networking',
			'--disable-component-update',
			'--disable-sync',
		],
	});
}

/** A page that tells of everything that should not happen: errors, and what the policy has stopped. */
export interface WatchedPage {
	readonly page: Page;
	readonly context: BrowserContext;
	readonly problems: string[];
}

/** Another browser as far as cookies are concerned. */
export async function openPage(
	browser: Browser,
	address: string,
	options: BrowserContextOptions = {},
): Promise<WatchedPage> {
	const context = await browser.newContext(options);
	onTestFinished(() => context.close());
	// Before the limit of the test, so that an error says what was waited for.
	context.setDefaultTimeout(90_000);
	const page = await context.newPage();
	const problems: string[] = [];
	page.on('pageerror', error => problems.push(String(error)));
	page.on('console', message => {
		if (/Content Security Policy|TrustedHTML|Refused to/.test(message.text())) problems.push(message.text());
	});
	await page.goto(address);
	return {page, context, problems};
}

/** Opens a view of the one machine. */
export async function goToView(page: Page, view: string): Promise<void> {
	await page.evaluate(`location.hash = ${JSON.stringify(`#/here/${view}`)}`);
}

/** Opens the view of a process. */
export async function showProcess(page: Page, name: string): Promise<void> {
	await page.waitForSelector('main');
	await goToView(page, `process/${encodeURIComponent(name)}`);
	await page.waitForSelector('.live .xterm-rows');
}

/** Settles when the terminal shows a text. */
export async function terminalShows(page: Page, text: string | RegExp): Promise<void> {
	await page.locator('.live .xterm-rows').filter({hasText: text}).waitFor();
}

/** Lines of the terminal, without blanks at their ends. */
export async function terminalLines(page: Page, root = '.live'): Promise<string[]> {
	const rows = page.locator(`${root} .xterm-rows > div`);
	return (await rows.allTextContents()).map(line => line.replaceAll('\u00a0', ' ').trimEnd());
}
