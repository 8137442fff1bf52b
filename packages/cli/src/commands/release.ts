import { Command, Option } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import { parseDuration } from '../arguments/duration.ts'
import { parseCount } from '../run/settings.ts'
import type { PrintPlanFlags } from '../release/plan.ts'
import { planSources, type PlanSource } from '../release/choices.ts'

/** Flags that say which packages are meant, and where they go. */
export interface PlanFlags {
  readonly from?: PlanSource
  readonly registry?: string
  readonly pypi?: string
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly preid?: string
  readonly distTag?: string
  readonly tagFormat?: string
  readonly lockstep?: boolean
  readonly snapshot?: string | true
  readonly canary?: string | true
  readonly json?: boolean
  readonly color: boolean
}

export interface PublishFlags extends PlanFlags {
  readonly dryRun?: boolean
  readonly concurrency: number
  readonly retries: number
  readonly timeout: number
  readonly visibility: number
  readonly gate: 'visible' | 'accepted'
  readonly staged?: boolean
  readonly pin: 'memory' | 'in-place'
  readonly build?: string | false
  readonly smoke: boolean
  readonly tag: boolean
  readonly push?: string | true
  readonly lease?: string | boolean
  readonly notes?: string | boolean
  readonly otp?: string
  readonly ignoreScripts?: boolean
  readonly allowDirty?: boolean
  readonly allowUnpushed?: boolean
  readonly branch?: readonly string[]
}

export interface VersionFlags extends PlanFlags {
  readonly dryRun?: boolean
  readonly commit: boolean
  readonly changelog: boolean
  readonly message?: string
}

export interface RollbackFlags extends Pick<
  PlanFlags,
  'registry' | 'pypi' | 'include' | 'exclude' | 'json' | 'color'
> {
  readonly yes?: boolean
  readonly message?: string
}

/** `heddle release [plan|version|publish|status|rollback]` */
export function releaseCommand(): Command {
  const release = new Command('release')
    .description(
      'Publish the packages of a workspace in dependency order. Results are read back\n' +
        'from the registry. To finish an interrupted release, run the same command\n' +
        'again.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ heddle release plan\n  $ heddle release version\n  $ heddle release publish --dry-run\n  $ heddle release publish',
    )
  release.addCommand(planCommand())
  release.addCommand(versionCommand())
  release.addCommand(publishCommand())
  release.addCommand(statusCommand())
  release.addCommand(rollbackCommand())
  return release
}

function withPlanFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--from <source>',
        'where versions come from (default: publish-plan.json, changesets, manifests)',
      ).choices(planSources),
    )
    .option('--registry <url>', 'the npm registry (default: as npm is configured)')
    .option('--pypi <url>', 'the Python registry (default: https://pypi.org)')
    .option('--include <globs...>', 'only these packages and their dependencies in this release')
    .option('--exclude <globs...>', 'leave out these packages')
    .option('--preid <name>', 'with --from commits: make prereleases with this identifier')
    .option('--dist-tag <tag>', 'the dist-tag (default: latest, or the identifier of a prerelease)')
    .option('--snapshot [name]', 'versions of this commit, such as 0.0.0-pr-12-…; no tags')
    .option('--canary [name]', 'versions of this commit, such as 1.3.1-canary.…; no tags')
    .option('--lockstep', 'with --from commits: all packages get the same version')
    .option('--tag-format <format>', 'the format of Git tags (default: {name}@{version})')
    .option('--json', 'one JSON object; with publish one per event, the last is the result')
    .option('--no-color', 'plain lines without colours or live view')
}

function planCommand(): Command {
  return withPlanFlags(new Command('plan'))
    .summary('what would be released, in which order')
    .description(
      'Print what would be released, and which versions the registry already has.\nChanges nothing.',
    )
    .addOption(
      new Option('-f, --format <format>', 'how to print it')
        .choices(['table', 'json', 'mermaid', 'levels', 'csv'])
        .default('table'),
    )
    .option('--offline', 'do not ask the registries')
    .addHelpText('after', '\nExample:\n  $ heddle release plan --format mermaid')
    .addHelpText(
      'after',
      exitCodeHelp({ 0: 'the plan was printed', 2: 'the workspace cannot be released' }),
    )
    .action(async (flags: PrintPlanFlags) => {
      const { printPlan } = await import('../release/plan.ts')
      await printPlan(flags)
    })
}

function versionCommand(): Command {
  return withPlanFlags(new Command('version'))
    .summary('write versions and changelogs from changesets or commits, and commit them')
    .description(
      'Write the versions that changesets (or, with --from commits, commit messages)\n' +
        'ask for: manifests, lock file and changelogs. Remove the changesets that were\n' +
        'used, and commit everything at once. After a crash, run it again.',
    )
    .option('--dry-run', 'print what would be written, and write nothing')
    .option('--no-commit', 'leave the changes in the work tree')
    .option('--no-changelog', 'write no changelogs')
    .option('-m, --message <text>', 'the first line of the commit')
    .addHelpText(
      'after',
      '\nExample:\n  $ heddle release version\n  $ heddle release version --from commits --preid rc',
    )
    .addHelpText(
      'after',
      exitCodeHelp({ 0: 'versions are written, or there is nothing to do', 1: '', 2: '' }),
    )
    .action(async (flags: VersionFlags) => {
      const { version } = await import('../release/version.ts')
      await version(flags)
    })
}

function publishCommand(): Command {
  return withPlanFlags(new Command('publish'))
    .summary('publish the planned packages, or finish an interrupted release')
    .description(
      'Build, pack, upload and verify the planned packages. A package is uploaded as\n' +
        'soon as its dependencies can be installed. After a crash, a failure or a\n' +
        'cancel, run it again to finish; nothing is uploaded twice.',
    )
    .option('--dry-run', 'build, pack and check for real; upload and tag nothing')
    .addOption(
      new Option('-c, --concurrency <n>', 'uploads at once').argParser(parseCount(1)).default(5),
    )
    .addOption(
      new Option('-r, --retries <n>', 'how often an upload is retried after a temporary failure')
        .argParser(parseCount(0))
        .default(3),
    )
    .addOption(
      new Option('-t, --timeout <ms>', 'how long one stage may take; also 90s, 5min')
        .argParser(parseDuration)
        .default(600_000),
    )
    .addOption(
      new Option(
        '--visibility <ms>',
        'how long to wait until the registry shows an accepted version',
      )
        .argParser(parseDuration)
        .default(1_800_000),
    )
    .addOption(
      new Option('--gate <when>', 'when dependents are uploaded')
        .choices(['visible', 'accepted'])
        .default('visible'),
    )
    .option('--staged', 'stage everything first, then approve in dependency order')
    .addOption(
      new Option('--pin <where>', 'where exact versions are written for the build')
        .choices(['memory', 'in-place'])
        .default('memory'),
    )
    .option(
      '--build <script>',
      'the script that builds a package, where it has one (default: build)',
    )
    .option('--no-build', 'skip builds; npm lifecycle scripts such as prepack still run')
    .option('--ignore-scripts', 'skip npm lifecycle scripts such as prepack')
    .option('--no-smoke', 'do not install and import the published packages')
    .option('--no-tag', 'make no Git tags')
    .option('--push [remote]', 'push the tags to a remote (origin)')
    .option(
      '--lease <remote>',
      'the remote whose lease keeps other clones from releasing (default: origin)',
    )
    .option('--no-lease', 'take no lease: other clones may release at the same time')
    .option('--notes <forge>', 'create a release with notes for each package: github or gitlab')
    .option('--no-notes', 'create no releases on GitHub or GitLab')
    .option('--otp <code>', 'a one-time password')
    .option('--allow-dirty', 'publish uncommitted changes of the work tree')
    .option('--allow-unpushed', 'publish a commit that is not on a remote')
    .option('--branch <globs...>', 'refuse to publish from other branches')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle release publish --dry-run',
        '  $ heddle release publish --registry http://127.0.0.1:4873',
        exitCodeHelp({
          0: 'every package is published and verified',
          1: 'some packages are not, or a later step failed',
          2: 'the command is invalid, or the release could not start',
          130: 'cancelled',
          143: 'terminated',
        }),
      ].join('\n'),
    )
    .action(async (flags: PublishFlags) => {
      const { publish } = await import('../release/publish.ts')
      await publish(flags)
    })
}

function statusCommand(): Command {
  return withPlanFlags(new Command('status'))
    .summary('what the registry has of the planned versions')
    .description('Compare the plan with the registry, the tags and the last release.')
    .addHelpText('after', '\nExample:\n  $ heddle release status --json')
    .addHelpText(
      'after',
      exitCodeHelp({ 0: 'everything is published', 1: 'something is missing', 2: '' }),
    )
    .action(async (flags: PlanFlags) => {
      const { printStatus } = await import('../release/status.ts')
      await printStatus(flags)
    })
}

function rollbackCommand(): Command {
  return new Command('rollback')
    .argument('[release]', 'the id of the release, when several are recorded')
    .summary('roll a release back: move dist-tags back and deprecate the new versions')
    .description(
      'Print the steps of a rollback; with --yes, perform them. What was released is\n' +
        'read from the journal. Published versions stay, because other packages may\n' +
        'already depend on them.',
    )
    .option('-y, --yes', 'perform the rollback')
    .option('--include <globs...>', 'only these packages of the release')
    .option('--exclude <globs...>', 'not these packages of the release')
    .option('--registry <url>', 'the npm registry (default: as npm is configured)')
    .option('--pypi <url>', 'the Python registry (default: https://pypi.org)')
    .option('-m, --message <text>', 'the deprecation message')
    .option('--json', 'one JSON object')
    .option('--no-color', 'plain lines without colours')
    .addHelpText(
      'after',
      '\nExample:\n  $ heddle release rollback\n  $ heddle release rollback --yes',
    )
    .addHelpText('after', exitCodeHelp({ 0: 'done, or nothing to do', 1: 'a step failed', 2: '' }))
    .action(async (release: string | undefined, flags: RollbackFlags) => {
      const { rollback } = await import('../release/rollback.ts')
      await rollback(release, flags)
    })
}
