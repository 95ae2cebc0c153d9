import {expect, test} from 'vitest';
import {parseExecCommand, parseWriteStdin, type ToolArguments} from '../../src/agent-tools/tool-arguments.js';
import {ToolFailure} from '../../src/agent-tools/tool-failures.js';

test('arguments come as JSON text or as an object, with defaults for what is not given', () => {
	const parsed = {
		cmd: 'ls',
		workdir: undefined,
		shell: undefined,
		login: undefined,
		tty: false,
		yieldTimeMs: 10_000,
		maxOutputTokens: undefined,
		environmentId: undefined,
	};
	expect(parseExecCommand({cmd: 'ls'})).toEqual(parsed);
	expect(parseExecCommand(' {"cmd" : "ls", "more": [1, {"a": null}, "\\u00e9"]} ')).toEqual(parsed);
	expect(parseExecCommand('{"cmd":"ls","workdir":null,"login":null,"max_output_tokens":null}')).toEqual(parsed);
	expect(parseWriteStdin({session_id: -1})).toEqual({
		sessionId: -1,
		chars: '',
		yieldTimeMs: 250,
		maxOutputTokens: undefined,
	});
	expect(parseExecCommand({cmd: 'é"\n😀', tty: true, yield_time_ms: 0})).toMatchObject({cmd: 'é"\n😀', yieldTimeMs: 0});
});

test.each<[ToolArguments, string]>([
	['', 'EOF while parsing a value at line 1 column 0'],
	['{bad', 'key must be a string at line 1 column 2'],
	['{"cm": 1}', 'missing field `cmd` at line 1 column 9'],
	['{"cmd":"a"', 'EOF while parsing an object at line 1 column 10'],
	['{"cmd":"a', 'EOF while parsing a string at line 1 column 9'],
	['{"cmd" "a"}', 'expected `:` at line 1 column 8'],
	['{"cmd":"a" "b"}', 'expected `,` or `}` at line 1 column 12'],
	['{"cmd":"a",}', 'trailing comma at line 1 column 12'],
	['{"cmd":"a"} x', 'trailing characters at line 1 column 13'],
	['{"cmd":nil}', 'expected ident at line 1 column 9'],
	['{"cmd":?}', 'expected value at line 1 column 8'],
	['{"cmd":"a","x":01}', 'invalid number at line 1 column 17'],
	['{"cmd":"\\q"}', 'invalid escape at line 1 column 10'],
	['{"cmd":"a\nb"}', 'control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0'],
	['{"cmd":"a","cmd":"b"}', 'duplicate field `cmd` at line 1 column 16'],
	['{\n"cmd": 5}', 'invalid type: integer `5`, expected a string at line 2 column 8'],
	['{"é":1,"cmd":5}', 'invalid type: integer `5`, expected a string at line 1 column 15'],
	['5', 'invalid type: integer `5`, expected struct ExecCommandArgs at line 1 column 1'],
	[{cmd: null}, 'invalid type: null, expected a string at line 1 column 11'],
	[{cmd: ['a']}, 'invalid type: sequence, expected a string at line 1 column 7'],
	[{cmd: {}}, 'invalid type: map, expected a string at line 1 column 7'],
	[{cmd: 'a', tty: 'yes'}, 'invalid type: string "yes", expected a boolean at line 1 column 22'],
	[{cmd: 'a', tty: 1}, 'invalid type: integer `1`, expected a boolean at line 1 column 18'],
	[{cmd: 'a', yield_time_ms: -5}, 'invalid value: integer `-5`, expected u64 at line 1 column 29'],
	[{cmd: 'a', yield_time_ms: 1.5}, 'invalid type: floating point `1.5`, expected u64 at line 1 column 30'],
	['{"cmd":"a","yield_time_ms":1e3}', 'invalid type: floating point `1000.0`, expected u64 at line 1 column 30'],
	[{cmd: 'a', max_output_tokens: true}, 'invalid type: boolean `true`, expected usize at line 1 column 35'],
])('%j is answered with: %s', (args, message) => {
	expect(() => parseExecCommand(args)).toThrow(new ToolFailure(`failed to parse function arguments: ${message}`));
});

test.each<[ToolArguments, string]>([
	[{}, 'missing field `session_id` at line 1 column 2'],
	[{session_id: 'abc'}, 'invalid type: string "abc", expected i32 at line 1 column 19'],
	[{session_id: 2 ** 31}, 'invalid value: integer `2147483648`, expected i32 at line 1 column 24'],
	[{session_id: 1, chars: null}, 'invalid type: null, expected a string at line 1 column 28'],
])('%j for a session is answered with: %s', (args, message) => {
	expect(() => parseWriteStdin(args)).toThrow(new ToolFailure(`failed to parse function arguments: ${message}`));
});

test('arguments nested without end are refused, not followed', () => {
	const deep = `{"x":${'['.repeat(100_000)}`;
	expect(() => parseExecCommand(deep)).toThrow('recursion limit exceeded');
});
