/**
 * Says which servers the bench has found on this machine, and installs those that are missing.
 *
 *     node bench/servers/setup.ts [--install]
 *
 * Exit code 0: all are there; 1: some are not, and the repair.
 */
import { parseArgs } from 'node:util'
import { findProgram } from '@heddle/test-servers'
import { provideServers, serverNames } from './provide.ts'

const { values } = parseArgs({ options: { install: { type: 'boolean', default: false } } })
const onProgress = (line: string): void => console.error(line)
const absent = await provideServers(serverNames, { ...values, onProgress })
for (const server of serverNames) {
  console.log(absent.get(server) ?? `${server}: ${findProgram(server)}`)
}
process.exitCode = absent.size === 0 ? 0 : 1
