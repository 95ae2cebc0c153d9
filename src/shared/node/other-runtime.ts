const {bun, deno} = process.versions as {readonly bun?: string; readonly deno?: string};

/** Name and version of the runtime if it is not Node itself: some of its built-in modules differ there. */
export const OTHER_RUNTIME = bun !== undefined ? `Bun ${bun}` : deno !== undefined ? `Deno ${deno}` : undefined;

/** Whether the descriptors of terminals can be read: Bun reports their end at once. */
export const CAN_READ_TERMINALS = bun === undefined;
