import {describeForModels} from './instructions.js';
import {ForwardedPorts} from './machines/forwarded-ports.js';
import {hasLimits} from './machines/machine-limits.js';
import {MachineSet} from './machines/machine-set.js';
import type {NamedMachine} from './machines/named-machine.js';
import {KnownProcesses} from './processes/known-processes.js';
import {ProcessIds} from './processes/process-ids.js';
import {rightsOf} from './processes/process-rights.js';
import {createServerFactory} from './sdk-server.js';
import {ToolService} from './tool-service.js';
import type {ToolGroup} from './tools/tool.js';
import {selectTools} from './tools/tool-list.js';

export interface McpServiceOptions {
	/** The first is the default. */
	readonly machines: readonly NamedMachine[];
	readonly groups: readonly ToolGroup[];
	readonly isReadOnly: boolean;
	/** A call that takes longer becomes a task, where the client takes tasks. */
	readonly graceMs: number;
	/** Wait of clients that show no progress. */
	readonly maxWaitMs: number;
	/** Characters of output in an answer. */
	readonly maxChars: number;
	/** Ids get a random part: whoever knows one may use the process. */
	readonly hasSecretIds: boolean;
}

/** The MCP server without its connections: machines, processes, tasks and ports that all of them share. */
export class McpService implements AsyncDisposable {
	readonly createServer: ReturnType<typeof createServerFactory>;
	readonly #machines: MachineSet;
	readonly #ports = new ForwardedPorts();

	constructor(options: McpServiceOptions) {
		const {groups, isReadOnly, graceMs, maxWaitMs, maxChars, hasSecretIds} = options;
		const machines = new MachineSet(options.machines);
		const hasNetwork = machines.all.every(({limits}) => !hasLimits(limits) || limits.network === true);
		const tools = selectTools(groups, isReadOnly, hasNetwork);
		const rights = rightsOf(tools.map(({definition}) => definition.name));
		const processes = new KnownProcesses(machines, new ProcessIds({areSecret: hasSecretIds}), rights);
		const context = {machines, processes, ports: this.#ports, maxChars};
		const service = new ToolService({tools, context, graceMs, maxWaitMs});
		this.#machines = machines;
		this.createServer = createServerFactory({service, instructions: () => describeForModels(machines)});
	}

	/** Leaves the machines; their processes run on. */
	async [Symbol.asyncDispose](): Promise<void> {
		await this.#ports[Symbol.asyncDispose]();
		await Promise.allSettled(this.#machines.all.map(({environment}) => environment.close()));
	}
}
