// covers: src/transports/node/relay/registry-errors.ts, src/transports/node/relay/registry-client.ts, src/cli/commands/serve/remote-credential.ts
// Texts that scripts and people know from upstream: each is provoked at our executor, and at the stock one where that is installed.
import {execFileSync} from 'node:child_process';
import {PassThrough} from 'node:stream';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {readCredentialFrames} from '../../src/cli/commands/serve/credential-frames.js';
import {Command} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {origin} from '../network/origin.js';

const CODEX = process.env['CODEX_BIN'];
const TOKEN = 'token-of-the-executor';
const GOOD = {
	environment_id: 'devbox',
	url: 'ws://127.0.0.1:1/relay?role=environment',
	security_profile: 'noise_hybrid_ik_v1',
	executor_registration_id: 'registration-1',
};
const inOneHour = (): number => Math.floor(Date.now() / 1000) + 3600;
const frame = (more: object = {}): string =>
	`${JSON.stringify({version: 1, environment_id: 'devbox', token: TOKEN, expires_at: inOneHour(), ...more})}\n`;
const BEARER = `${TOKEN}\n`;
const refusal = (code: string, message: string): string => JSON.stringify({error: {code, message}});

interface Case {
	readonly name: string;
	readonly text: string;
	/** Answer to `register`. */
	readonly answer?: readonly [status: number, body: string];
	/** URL in place of that of the registry. */
	readonly url?: string;
	readonly id?: string;
	/** On standard input in place of a key in the variable. */
	readonly credential?: string;
	/** Whether that is a line with a bearer, which codex has known since 0.169. */
	readonly isBearer?: boolean;
	readonly hasNoKey?: boolean;
	/** Our executor logs it and tries again, where the stock one ends. */
	readonly isRetriedByUs?: boolean;
	/** Why one of the two never says it. */
	readonly notOurs?: string;
	readonly notTheirs?: string;
}

const CASES: readonly Case[] = [
	{
		name: 'no credential',
		hasNoKey: true,
		text: 'remote exec-server registration requires ChatGPT authentication or API key authentication; run `codex login` or set CODEX_API_KEY',
	},
	{
		name: 'a key for another host',
		url: 'https://hub.example',
		text: 'remote exec-server API-key authentication is restricted to HTTPS openai.com and openai.org hosts and subdomains or loopback hosts',
		notOurs: 'a key is good for any https host',
	},
	{
		name: 'a credential over http to another host',
		url: 'http://hub.example',
		credential: frame(),
		text: 'environment registry configuration error: remote transport requires https for non-loopback endpoints',
	},
	{
		name: 'a URL that is none',
		url: 'hub.example',
		text: 'invalid remote exec-server registration URL: relative URL without a base',
	},
	{
		name: 'an empty id',
		id: ' ',
		text: 'environment registry configuration error: environment id is required for remote exec-server registration',
	},
	{
		name: 'an empty URL',
		url: ' ',
		text: 'environment registry configuration error: environment registry base URL is required',
		notTheirs: 'a key is judged by its URL first',
	},
	...(['401 Unauthorized', '403 Forbidden'] as const).flatMap(status => [
		{
			name: `${status} with a message`,
			answer: [Number.parseInt(status), refusal('nobody', 'go away')] as const,
			text: `environment registry authentication error: environment registry authentication failed (${status}): go away`,
		},
		{
			name: `${status} without a body`,
			answer: [Number.parseInt(status), ''] as const,
			text: `environment registry authentication error: environment registry authentication failed (${status}): empty error body`,
		},
	]),
	{
		name: 'another status with a code',
		answer: [404, refusal('environment_not_found', 'no such environment')],
		text: 'environment registry request failed (404 Not Found, environment_not_found): no such environment',
	},
	{
		name: 'another status with plain text',
		answer: [400, 'plain text'],
		text: 'environment registry request failed (400 Bad Request): plain text',
	},
	{
		name: 'another status without a body',
		answer: [400, ''],
		text: 'environment registry request failed (400 Bad Request): empty or malformed error body',
	},
	{
		name: 'a redirect, which is not followed',
		answer: [302, ''],
		text: 'environment registry request failed (302 Found): empty or malformed error body',
	},
	{
		name: 'a failing registry',
		answer: [503, refusal('busy', 'come back')],
		text: 'environment registry request failed (503 Service Unavailable, busy): come back',
		isRetriedByUs: true,
	},
	{
		name: 'a registry that is not there',
		url: 'http://127.0.0.1:1',
		text: 'environment registry request failed: error sending request for url (http://127.0.0.1:1/cloud/environment/devbox/register)',
		isRetriedByUs: true,
	},
	{
		name: 'an answer that is no JSON',
		answer: [200, 'no JSON'],
		text: 'failed to serialize or deserialize exec-server JSON: ',
	},
	{
		name: 'an answer without a member',
		answer: [200, JSON.stringify({...GOOD, url: undefined})],
		text: `failed to serialize or deserialize exec-server JSON: missing field \`url\` at line 1 column ${JSON.stringify({...GOOD, url: undefined}).length}`,
	},
	{
		name: 'an answer without a member, on several lines',
		answer: [200, `${JSON.stringify({...GOOD, executor_registration_id: undefined}, null, 2)}\n`],
		text: 'failed to serialize or deserialize exec-server JSON: missing field `executor_registration_id` at line 5 column 1',
	},
	{
		name: 'an answer for another environment',
		answer: [200, JSON.stringify({...GOOD, environment_id: 'other'})],
		text: 'exec-server protocol error: environment registry returned a different environment id',
	},
	{
		name: 'an answer with another profile',
		answer: [200, JSON.stringify({...GOOD, security_profile: 'none'})],
		text: 'exec-server protocol error: environment registry returned unsupported security profile `none`',
	},
	{
		name: 'an answer to a credential that echoes it',
		credential: frame(),
		answer: [200, JSON.stringify({...GOOD, url: `ws://127.0.0.1:1/?${TOKEN}`})],
		text: 'exec-server protocol error: invalid environment registry executor registration response',
	},
	{
		name: 'an answer to a credential that is no JSON',
		credential: frame(),
		answer: [200, 'no JSON'],
		text: 'exec-server protocol error: invalid environment registry executor registration response',
	},
	{
		name: 'a status and a code for a credential',
		credential: frame(),
		answer: [409, refusal('registration_conflict', `secret ${TOKEN}`)],
		text: 'environment registry request failed (409 Conflict, registration_conflict): environment registry executor registration failed',
	},
	{
		name: 'a code that echoes a credential',
		credential: frame(),
		answer: [404, refusal(TOKEN, TOKEN)],
		text: 'environment registry request failed (404 Not Found): environment registry executor registration failed',
	},
	{
		name: 'a failing registry for a credential',
		credential: frame(),
		answer: [503, ''],
		text: 'environment registry request failed (503 Service Unavailable): environment registry executor registration failed',
		isRetriedByUs: true,
	},
	{
		name: '401 for a credential',
		credential: frame(),
		answer: [401, refusal('nobody', `secret ${TOKEN}`)],
		text: 'environment registry authentication error: environment registry authentication failed (401 Unauthorized): response body omitted',
	},
	{
		name: 'a credential that is no JSON',
		credential: 'no JSON\n',
		text: 'invalid exec-server executor credential frame',
	},
	{
		name: 'a credential with a further member',
		credential: frame({more: 1}),
		text: 'invalid exec-server executor credential frame',
	},
	{
		name: 'a credential that is too long',
		credential: frame({token: 'x'.repeat(17 * 1024)}),
		text: 'exec-server executor credential frame exceeds the size limit',
	},
	{
		name: 'a credential for another environment',
		credential: frame({environment_id: 'other'}),
		text: 'credential is for a different environment',
	},
	{
		name: 'an expired credential',
		credential: frame({expires_at: 1}),
		text: 'credential is expired',
	},
	{
		name: 'a credential that never comes',
		credential: '',
		text: 'exec-server executor credential pipe closed',
	},
	{
		name: 'a bearer over http to another host',
		url: 'http://hub.example',
		credential: BEARER,
		isBearer: true,
		text: 'environment registry configuration error: remote transport requires https for non-loopback endpoints',
	},
	{
		name: 'an answer that echoes a bearer',
		credential: BEARER,
		isBearer: true,
		answer: [200, JSON.stringify({...GOOD, more: TOKEN})],
		text: 'exec-server protocol error: invalid environment registry executor registration response',
	},
	{
		name: '401 for a bearer',
		credential: BEARER,
		isBearer: true,
		answer: [401, refusal('nobody', `secret ${TOKEN}`)],
		text: 'environment registry authentication error: environment registry authentication failed (401 Unauthorized): response body omitted',
	},
	{
		name: 'a status and a code for a bearer',
		credential: BEARER,
		isBearer: true,
		answer: [404, refusal(TOKEN, TOKEN)],
		text: 'environment registry request failed (404 Not Found): environment registry executor registration failed',
	},
	{
		name: 'a bearer with a space',
		credential: 'two words\n',
		isBearer: true,
		text: 'invalid registration bearer',
	},
	{
		name: 'a bearer that is too long',
		credential: `${'x'.repeat(16 * 1024)}\n`,
		isBearer: true,
		text: 'expected a newline-terminated registration bearer of at most 16 KiB',
	},
	{
		name: 'a bearer that never comes',
		credential: '',
		isBearer: true,
		text: 'expected a newline-terminated registration bearer of at most 16 KiB',
	},
];

const PROGRAMS = {
	longarm: {command: ['serve', '--log-format', 'json'], program: undefined},
	...(CODEX !== undefined && {'stock codex': {command: [], program: CODEX}}),
};

describe.each(Object.entries(PROGRAMS))('an executor of %s', (kind, {command, program}) => {
	const isStock = kind !== 'longarm';
	const cases = CASES.filter(({isBearer}) => !(isStock && isBearer) || knowsBearer(program!));
	test.each(cases.map(each => [each.name, each] as const))(
		'tells of %s in known words',
		async (_name, {answer = [200, '{}'], id = 'devbox', hasNoKey = false, ...given}) => {
			const {url: registry} = await origin((_request, response) => {
				response.writeHead(answer[0], {location: '/elsewhere'}).end(answer[1]);
			});
			const {credential, text, url = registry} = given;
			const executor = new Command(
				[
					...command,
					'--remote',
					url,
					'--environment-id',
					id,
					...(credential === undefined
						? []
						: [given.isBearer ? '--registration-bearer-stdin' : '--executor-credential-stdin']),
				],
				{
					...(program !== undefined && {runtime: program, program: 'exec-server'}),
					env: {
						CODEX_HOME: scratchDirectory(),
						XDG_STATE_HOME: scratchDirectory(),
						...(!hasNoKey && credential === undefined && {CODEX_API_KEY: TOKEN}),
					},
				},
			);
			if (credential === '') executor.child.stdin.end();
			else if (credential !== undefined) executor.child.stdin.write(credential);
			const isOther = given[isStock ? 'notTheirs' : 'notOurs'] !== undefined;
			const isRetried = given.isRetriedByUs === true && !isStock;
			const said = isRetried ? JSON.stringify(text).slice(1, -1) : text;
			if (isOther) await executor.until(() => executor.stderr.length > 0, 'its first words');
			const outcome = isOther || isRetried ? await executor.logs(isOther ? '' : said) : await executor.ended;
			expect(outcome).toEqual(isOther || isRetried ? undefined : {code: 1, signal: null});
			expect(executor.stderr.includes(said)).toBe(!isOther);
			expect(executor.stderr).not.toContain(TOKEN);
		},
	);
});

/** Whether a stock program is of version 0.169 or later. */
function knowsBearer(program: string): boolean {
	const [, minor] = / 0\.(\d+)\./.exec(execFileSync(program, ['--version'], {encoding: 'utf8'})) ?? [];
	return Number(minor) >= 169;
}

test('a first credential that does not come in time is told in known words', async () => {
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
	onTestFinished(() => void vi.useRealTimers());
	const reading = readCredentialFrames(new PassThrough(), 'devbox');
	const failure = reading.catch((error: unknown) => error);
	await vi.advanceTimersByTimeAsync(30_000);
	expect(await failure).toMatchObject({
		message: 'timed out waiting for the initial exec-server executor credential',
	});
});
