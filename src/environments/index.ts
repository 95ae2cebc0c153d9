export type {EnvironmentLabels} from '../shared/labels.js';
export {ENVIRONMENTS_FILE} from './config/config-home.js';
export {defaultProvider, type ProviderOptions} from './config/default-provider.js';
export {parseEnvironments} from './config/environments-file.js';
export {Environment, type StartCommandOptions} from './environment.js';
export {EnvironmentManager, type LoadOptions, type PlaceOptions} from './environment-manager.js';
export {combineProviders, type EnvironmentProvider, type EnvironmentSnapshot} from './environment-provider.js';
export {LocalFiles} from './local/local-files.js';
export {LocalHttp} from './local/local-http.js';
export {LocalPorts} from './local/local-ports.js';
export {describeGroup, foldOutcomes, type OutcomeGroup} from './many/fold-outcomes.js';
export type {MachineOutcome, SkipReason} from './many/machine-outcome.js';
export {
	type Machine,
	type MachineOutput,
	type MachineResult,
	type RunOnEachOptions,
	runOnEach,
} from './many/run-on-each.js';
export {type SelectableEnvironments, selectEnvironments} from './many/selector.js';
export type {RemoteOptions, RemoteTarget} from './remote/remote-target.js';
