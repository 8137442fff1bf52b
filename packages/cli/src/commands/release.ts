import { Command, Option } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import { parseCount, parseDuration } from '../run/settings.ts'
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

export interface RollbackFlags extends PlanFlags {
  readonly yes?: boolean
  readonly message?: string
}

/** `heddle release [plan|version|publish|status|rollback]` */
export function releaseCommand(): Command {
  const release = new Command('release')
    .description(
      'Publish the packages of a workspace in the order of their dependencies. What\n' +
        'was published is what the registry says; a release that was cut short is\n' +
        'finished by running it again.',
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
        'where versions come from (default: what is prepared, see the guide)',
      ).choices(planSources),
    )
    .option('--registry <url>', 'the npm registry (default: as npm is configured)')
    .option('--pypi <url>', 'the Python registry (default: https://pypi.org)')
    .option('--include <globs...>', 'only these packages, and what they need of this release')
    .option('--exclude <globs...>', 'not these packages')
    .option('--preid <name>', 'with --from commits: make prereleases of this name')
    .option(
      '--dist-tag <tag>',
      'what installers ask for (default: latest, or the name of a prerelease)',
    )
    .option('--snapshot [name]', 'versions of this commit, such as 0.0.0-pr-12-…; no tags')
    .option('--canary [name]', 'versions of this commit, such as 1.3.1-canary.…; no tags')
    .option('--lockstep', 'with --from commits: all packages get the same version')
    .option('--tag-format <format>', 'how Git tags are called (default: {name}@{version})')
    .option('--json', 'one JSON object; with publish one per event, the last is the result')
    .option('--no-color', 'plain lines without colours or live view')
}

function planCommand(): Command {
  return withPlanFlags(new Command('plan'))
    .summary('what would be released, in which order')
    .description(
      'Print what would be released, and what of it the registry has already. Changes\nnothing.',
    )
    .addOption(
      new Option('-f, --format <format>', 'how to print it')
        .choices(['table', 'json', 'mermaid', 'levels', 'csv'])
        .default('table'),
    )
    .option('--offline', 'ask no registry')
    .addHelpText('after', '\nExample:\n  $ heddle release plan --format mermaid')
    .addHelpText('after', exitCodeHelp({ 0: 'here it is', 2: 'the workspace cannot be released' }))
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
        'ask for: manifests, lock file and changelogs; remove the changesets that are\n' +
        'used up; make one commit of it. Running it again after a crash finishes it.',
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
    .summary('publish what is planned, or finish a release that was cut short')
    .description(
      'Build, pack, upload and verify the planned packages. Each starts as soon as\n' +
        'what it depends on can be installed. Running it again after a crash, a\n' +
        'failure or a cancel finishes the release; nothing is uploaded twice.',
    )
    .option('--dry-run', 'build, pack and check for real; upload and tag nothing')
    .addOption(
      new Option('-c, --concurrency <n>', 'uploads at once').argParser(parseCount(1)).default(5),
    )
    .addOption(
      new Option('-r, --retries <n>', 'uploads again after a failure that may pass')
        .argParser(parseCount(0))
        .default(3),
    )
    .addOption(
      new Option('-t, --timeout <ms>', 'how long one stage may take; also 90s, 5min')
        .argParser(parseDuration)
        .default(600_000),
    )
    .addOption(
      new Option('--visibility <ms>', 'how long the registry has to show what it took')
        .argParser(parseDuration)
        .default(1_800_000),
    )
    .addOption(
      new Option('--gate <when>', 'when dependents are uploaded')
        .choices(['visible', 'accepted'])
        .default('visible'),
    )
    .option('--staged', 'hand everything in first, then approve in order of dependencies')
    .addOption(
      new Option('--pin <where>', 'where exact versions are written for the build')
        .choices(['memory', 'in-place'])
        .default('memory'),
    )
    .option(
      '--build <script>',
      'the script that builds a package, where it has one (default: build)',
    )
    .option('--no-build', 'build nothing; scripts of npm such as prepack run all the same')
    .option('--ignore-scripts', 'run none of the scripts that npm runs by itself, such as prepack')
    .option('--no-smoke', 'do not install what was published')
    .option('--no-tag', 'make no Git tags')
    .option('--push [remote]', 'send the tags to a remote (origin)')
    .option(
      '--lease <remote>',
      'the remote that keeps other clones from releasing (default: origin)',
    )
    .option('--no-lease', 'do not keep other clones from releasing at the same time')
    .option('--notes <forge>', 'announce each release with its notes: github or gitlab')
    .option('--no-notes', 'announce nothing')
    .option('--otp <code>', 'a one-time password')
    .option('--allow-dirty', 'publish what is in the work tree although it is not committed')
    .option('--allow-unpushed', 'publish a commit that no remote has')
    .option('--branch <globs...>', 'refuse to publish from other branches')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle release publish --dry-run',
        '  $ heddle release publish --registry http://127.0.0.1:4873',
        exitCodeHelp({
          0: 'every package is on its registry with our content',
          1: 'some are not, or something went wrong after that',
          2: 'the command was not understood or nothing could start',
          130: 'it was cancelled',
          143: 'it was terminated',
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
    .summary('what the registry holds of what is planned')
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
  return withPlanFlags(new Command('rollback'))
    .argument('[release]', 'the id of the release, where more than one is recorded')
    .summary('take a release back: tags to the versions before, deprecate the new ones')
    .description(
      'Print what taking a release back would do; with --yes, do it. What was released\n' +
        'is read from the journal. Published versions stay, because others may depend on\n' +
        'them already.',
    )
    .option('-y, --yes', 'do it')
    .option('-m, --message <text>', 'what the deprecation says')
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
