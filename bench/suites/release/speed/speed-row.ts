/** How long publishing many packages takes when nothing goes wrong and nothing is built. */
import type { Contender, Entrant, Role, Row } from '../../../harness/row.ts'
import { caseLimit, manyPackages } from '../conditions.ts'
import { needs, registryAddress } from '../needs.ts'
import { heddle } from '../tools/heddle.ts'
import { changesets } from '../tools/changesets.ts'
import { lerna } from '../tools/lerna.ts'
import { pnpm } from '../tools/pnpm.ts'
import type { Tool } from '../tools/tool.ts'

/** Verification stays on; the smoke test, which the peers do not have, is off. */
const ours = withArguments(heddle, ['--no-smoke'])

const entrants: Readonly<Record<string, { readonly role: Role; readonly tool: Tool }>> = {
  heddle: { role: 'ours', tool: ours },
  'heddle --no-tag': { role: 'variant', tool: withArguments(ours, ['--no-tag']) },
  'heddle --concurrency 10': {
    role: 'variant',
    tool: withArguments(ours, ['--concurrency', '10']),
  },
  pnpm: { role: 'peer', tool: pnpm },
  changesets: { role: 'peer', tool: changesets },
  lerna: { role: 'peer', tool: lerna },
}

export const speedRow: Row = {
  name: `${manyPackages} packages without builds`,
  measure: 'rate',
  unit: 'packages/s',
  size: manyPackages,
  quickSize: manyPackages,
  warmUps: 0,
  warmUpSize: manyPackages,
  rounds: 1,
  children: 3,
  // Linking, publishing, and time to look at the result.
  limitMs: caseLimit + 60_000,
  isOutside: true,
  entrants: Object.fromEntries(
    Object.entries(entrants).map(([name, { role, tool }]): [string, Entrant] => [
      name,
      {
        role,
        needs: role === 'peer' ? [needs.registry, needs.peers] : [needs.registry],
        load: () => Promise.resolve(contender(tool)),
      },
    ]),
  ),
  note: 'heddle verifies each package and its archive; of the others only changesets makes Git tags',
}

function withArguments({ title, command, ...rest }: Tool, more: readonly string[]): Tool {
  return {
    ...rest,
    title: [title, ...more].join(' '),
    command: { ...command, args: [...command.args, ...more] },
  }
}

function contender(tool: Tool): Contender {
  return {
    prepare: () => async () => {
      const { publishMany } = await import('./publish-many.ts')
      const figures = await publishMany(tool, registryAddress())
      return () => figures
    },
  }
}
