import type { Contender, Entrant, Row } from '../../harness/row.ts'
import { caseLimit, commandLimit, workspace, type Fault } from './conditions.ts'
import { needs, registryAddress } from './needs.ts'
import { tools } from './tools/tools.ts'
import type { Tool } from './tools/tool.ts'

/** Every tool publishes the same workspace while the same thing goes wrong, and once more. */
export function faultRow(fault: Fault): Row {
  const entrants = Object.entries(tools).map(([name, tool]): [string, Entrant] => [
    name,
    {
      role: name === 'heddle' ? 'ours' : 'peer',
      needs: name === 'heddle' ? [needs.registry] : [needs.registry, needs.peers],
      load: () => Promise.resolve(contender(tool, fault)),
    },
  ])
  const size = Object.keys(workspace).length
  return {
    name: `fault: ${fault.name}`,
    measure: 'rate',
    unit: 'packages on the registry after a second run',
    size,
    quickSize: size,
    warmUps: 0,
    warmUpSize: size,
    rounds: 1,
    children: 1,
    // The case ends its commands itself; a minute for the checks in between.
    limitMs: caseLimit + 60_000,
    isOutside: true,
    entrants: Object.fromEntries(entrants),
    note: `a command that has not ended after ${commandLimit / 1000} s is ended, and all of a tool after ${caseLimit / 1000} s`,
  }
}

function contender(tool: Tool, fault: Fault): Contender {
  return {
    prepare: () => async () => {
      const { playCase } = await import('./case/play-case.ts')
      const figures = await playCase(tool, fault, registryAddress())
      return () => figures
    },
  }
}
