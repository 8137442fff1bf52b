/**
 * Every flag of `heddle release`, and what it does in each subcommand. A flag that is typed is used, or it is refused
 * by name with what to type instead (decision 0680).
 *
 *  FL1  A subcommand declares a flag only through this table, so there is none without a rule.
 *  FL2  A flag that can have no effect is refused before anything is done. The help does not show one that never has any.
 *  FL3  A dry run takes every flag of the real command: it rehearses it.
 *  FL4  What is typed twice counts as it was typed last, as in every program: scripts are called with more flags.
 */
import { Option, type Command } from 'commander'
import { parseDuration } from '../arguments/duration.ts'
import { parseCount } from '../arguments/whole-number.ts'
import { ecosystems, planSources, type PlanSource } from './choices.ts'

export const releaseCommands = ['plan', 'version', 'publish', 'status', 'rollback'] as const
export type ReleaseCommand = (typeof releaseCommands)[number]

/** What the effect of a flag may depend on. */
export interface FlagContext {
  /** All flags, with their defaults. */
  readonly flags: Readonly<Record<string, unknown>>
  /** The source that the flag or the config names. Undefined: the prepared one of the workspace, which is never commits. */
  readonly from: PlanSource | undefined
  /** Whether there is a repository with a commit. */
  readonly isRepository: boolean
}

/** Why a flag has no effect, and what to type instead. */
export interface Idle {
  readonly why: string
  readonly instead: string
}

export type FlagRule = (context: FlagContext) => Idle | undefined

/** What a flag does in one subcommand: it is used, never used, or used under a condition. */
export type FlagUse = 'used' | Idle | FlagRule

export interface ReleaseFlag {
  /** As the help shows it. */
  readonly option: (command: ReleaseCommand) => Option
  /** A flag is unknown to the subcommands that are not named. */
  readonly on: Readonly<Partial<Record<ReleaseCommand, FlagUse>>>
}

const used = { plan: 'used', publish: 'used', status: 'used' } as const
const everywhere = { ...used, version: 'used' } as const

const isSnapshot = ({ flags }: FlagContext): boolean =>
  flags['snapshot'] !== undefined || flags['canary'] !== undefined

const needsRepository: FlagRule = ({ isRepository }) =>
  isRepository
    ? undefined
    : {
        why: 'there is no Git repository with a commit here',
        instead: 'leave it out, or make a commit first',
      }

/** The first of several reasons. */
const any =
  (...rules: readonly FlagRule[]): FlagRule =>
  (context) => {
    for (const rule of rules) {
      const idle = rule(context)
      if (idle !== undefined) return idle
    }
    return undefined
  }

const needsCommits =
  (otherwise: string): FlagRule =>
  ({ from }) =>
    from === 'commits'
      ? undefined
      : {
          why: `versions come from ${from ?? 'what is prepared here'}, not from commits`,
          instead: `add --from commits${otherwise}`,
        }

const noSnapshot =
  (why: string): FlagRule =>
  (context) =>
    isSnapshot(context) ? { why, instead: 'leave out one of the two' } : undefined

const registryOnVersion: Idle = {
  why: 'it writes files of the repository and asks no registry',
  instead: 'pass it to `heddle release publish`',
}

const snapshotOnVersion = (flag: string): Idle => ({
  why: 'such versions are published and not written into manifests',
  instead: `type \`heddle release publish ${flag}\``,
})

const preid: FlagRule = any(
  needsCommits(', or make prereleases from changesets with `changeset pre enter NAME`'),
  noSnapshot('a snapshot has a prerelease of its own'),
)

const lockstep: FlagRule = needsCommits(
  ', or name the packages in `groups` of heddle.release.json or `fixed` of .changeset/config.json',
)

/** Tags are read to find the last release, and made after an upload. */
const tagFormat =
  (makes: FlagRule): FlagRule =>
  (context) => {
    if (context.from === 'commits') return undefined
    return any(needsRepository, makes)(context)
  }

const noTags: FlagRule = ({ flags }) =>
  flags['tag'] === false
    ? { why: '--no-tag makes no Git tags', instead: 'leave out one of the two' }
    : undefined

const noSnapshotTags = noSnapshot('a snapshot gets no Git tags')

const option = (flags: string, text: string) => () => new Option(flags, text)

export const releaseFlags: readonly ReleaseFlag[] = [
  {
    option: () =>
      new Option(
        '--from <source>',
        'where versions come from (default: publish-plan.json, changesets, manifests)',
      ).choices(planSources),
    on: {
      ...used,
      version: ({ flags }) =>
        flags['from'] === 'manifests' || flags['from'] === 'publish-plan'
          ? {
              why: 'versions are made from changesets or commits',
              instead: 'type --from changesets or --from commits',
            }
          : undefined,
    },
  },
  {
    option: () =>
      new Option('--ecosystem <name>', 'only packages of npm, or only of Python').choices(
        ecosystems,
      ),
    on: { ...everywhere, rollback: 'used' },
  },
  {
    option: option('--registry <url>', 'the npm registry (default: as npm is configured)'),
    on: { ...used, plan: asked, version: registryOnVersion, rollback: 'used' },
  },
  {
    option: option('--pypi <url>', 'the Python registry (default: https://pypi.org)'),
    on: { ...used, plan: asked, version: registryOnVersion, rollback: 'used' },
  },
  {
    option: (command) =>
      new Option(
        '--include <globs...>',
        command === 'rollback'
          ? 'only these packages of the release'
          : 'only these packages and their dependencies in this release',
      ),
    on: { ...everywhere, rollback: 'used' },
  },
  {
    option: (command) =>
      new Option(
        '--exclude <globs...>',
        command === 'rollback' ? 'not these packages of the release' : 'leave out these packages',
      ),
    on: { ...everywhere, rollback: 'used' },
  },
  {
    option: option('--preid <name>', 'with --from commits: make prereleases with this identifier'),
    on: { plan: preid, version: preid, publish: preid, status: preid },
  },
  {
    option: option(
      '--dist-tag <tag>',
      'the dist-tag (default: latest, or the identifier of a prerelease)',
    ),
    on: {
      ...used,
      version: {
        why: 'a dist-tag is set when a version is published',
        instead: 'type `heddle release publish --dist-tag TAG`',
      },
    },
  },
  {
    option: option('--snapshot [name]', 'versions of this commit, such as 0.0.0-pr-12-…; no tags'),
    on: { ...used, version: snapshotOnVersion('--snapshot') },
  },
  {
    option: option('--canary [name]', 'versions of this commit, such as 1.3.1-canary.…; no tags'),
    on: { ...used, version: snapshotOnVersion('--canary') },
  },
  {
    option: option('--lockstep', 'with --from commits: all packages get the same version'),
    on: { plan: lockstep, version: lockstep, publish: lockstep, status: lockstep },
  },
  {
    option: option('--tag-format <format>', 'the format of Git tags (default: {name}@{version})'),
    on: {
      plan: needsCommits('; tags are made by `heddle release publish --tag-format FORMAT`'),
      version: tagFormat(() => undefined),
      publish: tagFormat(any(noTags, noSnapshotTags)),
      status: tagFormat(noSnapshotTags),
    },
  },
  {
    option: () =>
      new Option('-f, --format <format>', 'how to print it')
        .choices(['table', 'json', 'mermaid', 'levels', 'csv'])
        .default('table'),
    on: {
      plan: ({ flags }) =>
        flags['json'] === true && flags['format'] !== 'json'
          ? { why: '--json prints one JSON object', instead: 'leave out one of the two' }
          : undefined,
    },
  },
  { option: option('--offline', 'do not ask the registries'), on: { plan: 'used' } },
  {
    option: (command) =>
      new Option(
        '--dry-run',
        command === 'version'
          ? 'print what would be written, and write nothing'
          : 'build, pack and check for real; upload and tag nothing',
      ),
    on: { version: 'used', publish: 'used' },
  },
  {
    option: option('--no-commit', 'leave the changes in the work tree'),
    on: { version: 'used' },
  },
  { option: option('--no-changelog', 'write no changelogs'), on: { version: 'used' } },
  {
    option: () =>
      new Option('-c, --concurrency <n>', 'uploads at once').argParser(parseCount(1)).default(5),
    on: { publish: 'used' },
  },
  {
    option: () =>
      new Option('-r, --retries <n>', 'how often an upload is retried after a temporary failure')
        .argParser(parseCount(0))
        .default(3),
    on: { publish: 'used' },
  },
  {
    option: () =>
      new Option('-t, --timeout <ms>', 'how long one stage may take; also 90s, 5min')
        .argParser(parseDuration)
        .default(600_000),
    on: { publish: 'used' },
  },
  {
    option: () =>
      new Option(
        '--visibility <ms>',
        'how long to wait until the registry shows an accepted version',
      )
        .argParser(parseDuration)
        .default(1_800_000),
    on: { publish: 'used' },
  },
  {
    option: () =>
      new Option('--gate <when>', 'when dependents are uploaded')
        .choices(['visible', 'accepted'])
        .default('visible'),
    on: { publish: 'used' },
  },
  {
    option: option('--staged', 'stage everything first, then approve in dependency order'),
    on: { publish: 'used' },
  },
  {
    option: () =>
      new Option('--pin <where>', 'where exact versions are written for the build')
        .choices(['memory', 'in-place'])
        .default('memory'),
    on: { publish: 'used' },
  },
  {
    option: option(
      '--build <script>',
      'the script that builds a package, where it has one (default: build)',
    ),
    on: { publish: 'used' },
  },
  {
    option: option('--no-build', 'skip builds; npm lifecycle scripts such as prepack still run'),
    on: { publish: 'used' },
  },
  {
    option: option('--ignore-scripts', 'skip npm lifecycle scripts such as prepack'),
    on: { publish: 'used' },
  },
  {
    option: option('--no-smoke', 'do not install and import the published packages'),
    on: { publish: 'used' },
  },
  { option: option('--no-tag', 'make no Git tags'), on: { publish: 'used' } },
  {
    option: option('--push [remote]', 'push the tags to a remote (origin)'),
    on: { publish: any(needsRepository, noTags, noSnapshotTags) },
  },
  {
    option: option(
      '--lease <remote>',
      'the remote whose lease keeps other clones from releasing (default: origin)',
    ),
    on: { publish: needsRepository },
  },
  {
    option: option('--no-lease', 'take no lease: other clones may release at the same time'),
    on: { publish: 'used' },
  },
  {
    option: option(
      '--notes <forge>',
      'create a release with notes for each package: github or gitlab',
    ),
    on: { publish: any(needsRepository, noTags, noSnapshotTags) },
  },
  {
    option: option('--no-notes', 'create no releases on GitHub or GitLab'),
    on: { publish: 'used' },
  },
  { option: option('--otp <code>', 'a one-time password'), on: { publish: 'used' } },
  {
    option: option('--allow-dirty', 'publish uncommitted changes of the work tree'),
    on: { publish: 'used' },
  },
  {
    option: option('--allow-unpushed', 'publish a commit that is not on a remote'),
    on: { publish: 'used' },
  },
  {
    option: option('--branch <globs...>', 'refuse to publish from other branches'),
    on: { publish: needsRepository },
  },
  { option: option('-y, --yes', 'perform the rollback'), on: { rollback: 'used' } },
  {
    option: (command) =>
      new Option(
        '-m, --message <text>',
        command === 'rollback' ? 'the deprecation message' : 'the first line of the commit',
      ),
    on: {
      version: any(
        ({ flags }) =>
          flags['commit'] === false
            ? { why: '--no-commit makes no commit', instead: 'leave out one of the two' }
            : undefined,
        needsRepository,
      ),
      rollback: 'used',
    },
  },
  {
    option: (command) =>
      new Option(
        '--json',
        command === 'publish'
          ? 'one JSON object per event; the last is the result'
          : 'one JSON object',
      ),
    on: { ...everywhere, rollback: 'used' },
  },
  {
    option: (command) =>
      new Option(
        '--no-color',
        command === 'publish'
          ? 'plain lines without colours or live view'
          : 'plain lines without colours',
      ),
    on: { ...everywhere, rollback: 'used' },
  },
]

function asked({ flags }: FlagContext): Idle | undefined {
  return flags['offline'] === true
    ? { why: '--offline asks no registry', instead: 'leave out one of the two' }
    : undefined
}

/** Declares the flags of a subcommand, in the order of the table. */
export function withReleaseFlags(command: Command): Command {
  const name = command.name() as ReleaseCommand
  for (const { option: make, on } of releaseFlags) {
    const use = on[name]
    if (use === undefined) continue
    const isNever = use !== 'used' && typeof use !== 'function'
    command.addOption(isNever ? make(name).hideHelp() : make(name))
  }
  return command
}

/** Flags as they were typed. */
export interface Typed<F> {
  readonly command: ReleaseCommand
  readonly flags: F
  /** Names of those that are not defaults. */
  readonly given: ReadonlySet<string>
}

export function typedFlags<F extends object>(flags: F, command: Command): Typed<F> {
  const names = Object.keys(flags)
  const given = names.filter((name) => command.getOptionValueSource(name) === 'cli')
  return { command: command.name() as ReleaseCommand, flags, given: new Set(given) }
}

/** The first flag that was typed and can have no effect (FL2). */
export function findIdleFlag(
  { command, flags, given }: Typed<object>,
  context: Omit<FlagContext, 'flags'>,
): (Idle & { readonly flag: string }) | undefined {
  const values = flags as FlagContext['flags']
  for (const { option: make, on } of releaseFlags) {
    const use = on[command]
    if (use === undefined || use === 'used') continue
    const found = make(command)
    const name = found.attributeName()
    // `--push` and `--no-push` would be two flags of one name.
    if (!given.has(name) || (values[name] === false) !== found.negate) continue
    const idle = typeof use === 'function' ? use({ ...context, flags: values }) : use
    if (idle !== undefined) return { flag: found.long!, ...idle }
  }
  return undefined
}

/** `distTag` → `--dist-tag`, `smoke` → `--no-smoke`. */
export function longFlag(command: ReleaseCommand, name: string): string {
  const found = releaseFlags
    .filter(({ on }) => on[command] !== undefined)
    .map(({ option: make }) => make(command))
    .find((each) => each.attributeName() === name)
  return found?.long ?? name
}
