import {expect, test} from 'vitest';
import {toolSpecs} from '../../src/agent-tools/tool-specs.js';

const offered = (loginShells: boolean, environmentIds: readonly string[]) => {
	const [exec, write] = toolSpecs({loginShells, environmentIds});
	return {exec, write, names: Object.keys(exec.inputSchema.properties!)};
};

test('two tools are offered, each with what it needs and nothing unknown', () => {
	const {exec, write} = offered(true, ['here']);
	expect([exec.name, write.name]).toEqual(['exec_command', 'write_stdin']);
	expect(exec.inputSchema).toMatchObject({required: ['cmd'], additionalProperties: false});
	expect(write.inputSchema).toMatchObject({required: ['session_id'], additionalProperties: false});
	expect(Object.keys(write.inputSchema.properties!)).toEqual([
		'session_id',
		'chars',
		'yield_time_ms',
		'max_output_tokens',
	]);
	expect(write.outputSchema).toEqual(exec.outputSchema);
	expect(exec.outputSchema.required).toEqual(['wall_time_seconds', 'output']);
});

test('a login shell can be asked for only where it is allowed', () => {
	expect(offered(true, ['here']).names).toContain('login');
	expect(offered(false, ['here']).names).not.toContain('login');
});

test('a machine can be chosen only where there are several', () => {
	expect(offered(true, ['here']).names).not.toContain('environment_id');
	const {exec} = offered(true, ['here', 'there']);
	expect(exec.inputSchema.properties!['environment_id']).toMatchObject({enum: ['here', 'there']});
});
