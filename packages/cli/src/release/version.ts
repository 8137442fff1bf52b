import { versionRelease } from '@heddle/release'
import type { Typed } from './release-flags.ts'
import type { VersionFlags } from './flag-types.ts'
import { exitCodes } from '../exit-codes.ts'
import { plural } from '../text/format.ts'
import { span } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'
import { answering } from './answering.ts'
import { readPlan } from './plan-source.ts'
import { chosenFrom } from './release-settings.ts'

/** `heddle release version` from the flags to the exit code. */
export async function version(typed: Typed<VersionFlags>): Promise<void> {
  await answering(typed, async ({ flags, printLines, result, warn, settings }) => {
    const say = (text: string): void => printLines([[span(printable(text))]])
    const { workspace, config } = await settings()
    const { tagFormat } = chosenFrom(flags, config)
    const report = await versionRelease(workspace.root, {
      // Read when it is needed: an earlier call may have left files half written.
      plan: async () => readPlan(flags, await settings(), undefined, 'version'),
      commit: flags.commit,
      changelog: flags.changelog,
      dryRun: flags.dryRun ?? false,
      ...(tagFormat !== undefined && { tagFormat }),
      ...(flags.message !== undefined && { message: flags.message }),
    })
    const { packages, files, commit, kept, isFinished } = report
    const isDryRun = flags.dryRun === true
    for (const text of report.warnings) warn(printable(text))
    for (const { name, from, version: to } of packages) say(`${name}  ${from} → ${to}`)
    if (isFinished) say('Finished the versions that an interrupted call had begun to write.')
    else if (packages.length === 0) say('There are no changes that need a new version.')
    for (const each of kept) say(`kept ${each.file}: ${each.packages.join(', ')} gets no version`)
    if (files.length > 0)
      say(`${plural(files.length, 'file')} ${isDryRun ? 'would change' : 'changed'}`)
    if (commit !== undefined) say(`committed ${commit.slice(0, 12)}`)
    result({ ...report, isDryRun })
    return exitCodes.ok
  })
}
