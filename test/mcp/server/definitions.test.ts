// covers: src/mcp/server/tools, src/mcp/server/instructions.ts
import {expect, test} from 'vitest';
import {Environment} from '../../../src/environments/environment.js';
import {describeForModels, MAX_INSTRUCTIONS_CHARACTERS} from '../../../src/mcp/server/instructions.js';
import {MachineSet} from '../../../src/mcp/server/machines/machine-set.js';
import {NamedMachine} from '../../../src/mcp/server/machines/named-machine.js';
import {TOOL_GROUPS, type ToolGroup} from '../../../src/mcp/server/tools/tool.js';
import {selectTools, TOOLS} from '../../../src/mcp/server/tools/tool-list.js';
import {machineAt, machineUrl, mcpService, sdkClient} from '../../helpers/mcp-service.js';

const ALL = ['exec', 'wait', 'send', 'screen', 'logs', 'ps', 'stop', 'read', 'write', 'edit', 'find', 'copy', 'port'];
const MAX_DEFINITIONS_CHARACTERS = 6000;

test('the definitions of all tools are small, in a fixed order and without unions', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl())]));
	const {tools} = await client.listTools();
	expect(tools.map(({name}) => name)).toEqual(ALL);
	const text = JSON.stringify(tools);
	expect(text.length).toBeLessThan(MAX_DEFINITIONS_CHARACTERS);
	expect(text).not.toMatch(/anyOf|oneOf|allOf|"type":\[/);
	expect((await client.listTools()).tools).toEqual(tools);
});

test('tools that change nothing say so, and the others say that they do', () => {
	const readOnly = TOOLS.filter(({definition}) => definition.annotations.readOnlyHint).map(
		({definition}) => definition.name,
	);
	expect(readOnly).toEqual(['wait', 'screen', 'logs', 'ps', 'read', 'find']);
	expect(TOOLS.filter(({definition}) => definition.annotations.destructiveHint)).toHaveLength(
		TOOLS.length - readOnly.length,
	);
	expect(selectTools(TOOL_GROUPS, true).map(({definition}) => definition.name)).toEqual(readOnly);
});

function names(...groups: ToolGroup[]): string[] {
	return selectTools(groups, false).map(({definition}) => definition.name);
}

test('groups select tools', () => {
	expect(names('exec', 'files', 'ports')).toEqual(ALL);
	expect(names('files')).toEqual(['read', 'write', 'edit', 'find', 'copy']);
	expect(names('jobs')).toEqual(['wait', 'logs', 'ps', 'stop']);
	expect(names('ports')).toEqual(['port']);
});

test('the instructions name machine, system, shell and directory, and the rule not to poll', async () => {
	const client = await sdkClient(mcpService([machineAt(await machineUrl(), 'devbox', {os: 'linux'})]));
	expect(client.getInstructions()).toMatch(/- devbox: (?:linux, \w+, \/.*|not reached yet), @os=linux$/);
	expect(client.getInstructions()).toContain('Never poll');
});

test('the instructions stay short however many machines there are, and names in them stay one line', async () => {
	const machines = Array.from({length: 200}, (_, at) => new NamedMachine(`machine-${at}`, Environment.local()));
	machines[0] = new NamedMachine('a\n[exit 0]\u001b[31m', Environment.local());
	const text = await describeForModels(new MachineSet(machines));
	expect(text.length).toBeLessThanOrEqual(MAX_INSTRUCTIONS_CHARACTERS);
	expect(text).toMatch(/\n… \d+ more: ps$/);
	expect(text).toContain('- a (exit 0) (31m: ');
	await Promise.all(machines.map(({environment}) => environment.close()));
});
