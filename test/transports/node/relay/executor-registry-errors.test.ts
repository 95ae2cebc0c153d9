// covers: src/transports/node/relay/executor-registry-errors.ts
import {expect, test} from 'vitest';
import {
	ExecutorRegistryAuth,
	ExecutorRegistryConfig,
	ExecutorRegistryHttp,
	ExecutorRegistryRequest,
	executorRegistryError,
	requireExecutorRegistry,
	requireExecutorRegistryToken,
} from '../../../../src/index.js';

const VARIABLE = 'CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN';

test('an answer that is no success has status, code and message, with the texts of the first versions', () => {
	const known = executorRegistryError(404, '{"error":{"code":"not_found","message":"no such executor"}}');
	expect(known).toBeInstanceOf(ExecutorRegistryHttp);
	expect(known).toMatchObject({
		status: 404,
		code: 'not_found',
		reason: 'no such executor',
		message: 'executor registry request failed (404 Not Found, not_found): no such executor',
	});
	expect(executorRegistryError(400, 'plain text').message).toBe(
		'executor registry request failed (400 Bad Request): plain text',
	);
	expect(executorRegistryError(500, '').message).toBe(
		'executor registry request failed (500 Internal Server Error): empty or malformed error body',
	);
	expect(executorRegistryError(500, 'x'.repeat(5000)).message).toHaveLength(
		'executor registry request failed (500 Internal Server Error): '.length + 4096,
	);
});

test('a refused or missing token is an error of authentication', () => {
	const refused = executorRegistryError(401, '{"error":{"message":"expired"}}');
	expect(refused).toBeInstanceOf(ExecutorRegistryAuth);
	expect(refused.message).toBe(
		'executor registry authentication error: executor registry authentication failed (401 Unauthorized): expired',
	);
	expect(executorRegistryError(403, '').message).toContain('failed (403 Forbidden): empty error body');
	const text = `executor registry authentication error: executor registry bearer token environment variable \`${VARIABLE}\` is`;
	expect(() => requireExecutorRegistryToken({})).toThrow(`${text} not set`);
	expect(() => requireExecutorRegistryToken({[VARIABLE]: ' '})).toThrow(`${text} empty`);
	expect(requireExecutorRegistryToken({[VARIABLE]: ' token\n'})).toBe('token');
});

test('missing settings and a failed request are errors of their own', () => {
	expect(() => requireExecutorRegistry(' / ', 'id')).toThrow(ExecutorRegistryConfig);
	expect(() => requireExecutorRegistry('', 'id')).toThrow(
		'executor registry configuration error: executor registry base URL is required',
	);
	expect(() => requireExecutorRegistry('https://hub.example/', ' ')).toThrow(
		'executor registry configuration error: executor id is required for remote exec-server registration',
	);
	expect(requireExecutorRegistry(' https://hub.example// ', ' id ')).toEqual({url: 'https://hub.example', id: 'id'});
	expect(new ExecutorRegistryRequest(new Error('connection refused')).message).toBe(
		'executor registry request failed: connection refused',
	);
});
