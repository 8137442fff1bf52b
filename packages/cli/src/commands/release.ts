import { Command } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import type { PrintPlanFlags } from '../release/plan.ts'
import type { PlanFlags, PublishFlags, RollbackFlags, VersionFlags } from '../release/flag-types.ts'
import { typedFlags, withReleaseFlags } from '../release/release-flags.ts'

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

function planCommand(): Command {
  return withReleaseFlags(new Command('plan'))
    .summary('what would be released, in which order')
    .description(
      'Print what would be released, and which versions the registry already has.\nChanges nothing.',
    )
    .addHelpText('after', '\nExample:\n  $ heddle release plan --format mermaid')
    .addHelpText(
      'after',
      exitCodeHelp({ 0: 'the plan was printed', 2: 'the workspace cannot be released' }),
    )
    .action(async (flags: PrintPlanFlags, command: Command) => {
      const { printPlan } = await import('../release/plan.ts')
      await printPlan(typedFlags(flags, command))
    })
}

function versionCommand(): Command {
  return withReleaseFlags(new Command('version'))
    .summary('write versions and changelogs from changesets or commits, and commit them')
    .description(
      'Write the versions that changesets (or, with --from commits, commit messages)\n' +
        'ask for: manifests, lock file and changelogs. Remove the changesets that were\n' +
        'used, and commit everything at once. After a crash, run it again.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ heddle release version\n  $ heddle release version --from commits --preid rc',
    )
    .addHelpText(
      'after',
      exitCodeHelp({ 0: 'versions are written, or there is nothing to do', 1: '', 2: '' }),
    )
    .action(async (flags: VersionFlags, command: Command) => {
      const { version } = await import('../release/version.ts')
      await version(typedFlags(flags, command))
    })
}

function publishCommand(): Command {
  return withReleaseFlags(new Command('publish'))
    .summary('publish the planned packages, or finish an interrupted release')
    .description(
      'Build, pack, upload and verify the planned packages. A package is uploaded as\n' +
        'soon as its dependencies can be installed. After a crash, a failure or a\n' +
        'cancel, run it again to finish; nothing is uploaded twice.',
    )
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
    .action(async (flags: PublishFlags, command: Command) => {
      const { publish } = await import('../release/publish.ts')
      await publish(typedFlags(flags, command))
    })
}

function statusCommand(): Command {
  return withReleaseFlags(new Command('status'))
    .summary('what the registry has of the planned versions')
    .description('Compare the plan with the registry, the tags and the last release.')
    .addHelpText('after', '\nExample:\n  $ heddle release status --json')
    .addHelpText(
      'after',
      exitCodeHelp({ 0: 'everything is published', 1: 'something is missing', 2: '' }),
    )
    .action(async (flags: PlanFlags, command: Command) => {
      const { printStatus } = await import('../release/status.ts')
      await printStatus(typedFlags(flags, command))
    })
}

function rollbackCommand(): Command {
  return withReleaseFlags(new Command('rollback'))
    .argument('[release]', 'the id of the release, when several are recorded')
    .summary('roll a release back: move dist-tags back and deprecate the new versions')
    .description(
      'Print the steps of a rollback; with --yes, perform them. What was released is\n' +
        'read from the journal. Published versions stay, because other packages may\n' +
        'already depend on them.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ heddle release rollback\n  $ heddle release rollback --yes',
    )
    .addHelpText('after', exitCodeHelp({ 0: 'done, or nothing to do', 1: 'a step failed', 2: '' }))
    .action(async (release: string | undefined, flags: RollbackFlags, command: Command) => {
      const { rollback } = await import('../release/rollback.ts')
      await rollback(release, typedFlags(flags, command))
    })
}
