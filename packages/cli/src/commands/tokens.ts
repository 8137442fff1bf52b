import { Command, Option } from 'commander'
import type { TokenScope } from '@heddle/server'
import { parseAge } from '../arguments/duration.ts'
import { helpWith, storeOf, withStore } from './users.ts'

interface CommonFlags {
  readonly store?: string
  readonly json?: boolean
}

interface AddFlags extends CommonFlags {
  readonly scope: readonly TokenScope[]
  readonly tenant?: string
  readonly expires?: number
}

/** `heddle tokens [list | add | revoke]` */
export function tokensCommand(): Command {
  return new Command('tokens')
    .description(
      'Tokens for programs: `Authorization: Bearer TOKEN`. A token has scopes, is shown once and stored as a hash.',
    )
    .addCommand(
      withStore(new Command('list').summary('list the tokens (the default)'), '{ ok, tokens }')
        .description('List the tokens, without their secrets.')
        .addHelpText('after', helpWith(['heddle tokens']))
        .action(async (flags: CommonFlags) => {
          const { listTokens } = await import('../tokens/token-actions.ts')
          await listTokens(storeOf(flags))
        }),
      { isDefault: true },
    )
    .addCommand(addCommand())
    .addCommand(revokeCommand())
    .addHelpText(
      'after',
      helpWith(['heddle tokens add ci --scope submit', 'heddle tokens revoke ci']),
    )
}

function addCommand(): Command {
  const command = new Command('add')
    .summary('make a token')
    .description('Make a token. It is printed once.')
    .argument('<name>', 'what it is for')
    .addOption(
      new Option(
        '--scope <scope...>',
        'read: look; operate: start and steer runs; submit: jobs; worker: the fleet',
      )
        .choices(['read', 'operate', 'submit', 'worker'])
        .default(['read']),
    )
    .option('--tenant <name>', 'whose jobs and results it shares')
    .addOption(new Option('--expires <age>', 'how long it works: 12h, 30d, 8w').argParser(parseAge))
  return withStore(command, 'one JSON object: { ok, id, name, token, scopes }')
    .addHelpText('after', helpWith(['heddle tokens add ci --scope submit read --expires 30d']))
    .action(async (name: string, flags: AddFlags) => {
      const { addToken } = await import('../tokens/token-actions.ts')
      const { scope: scopes, tenant, expires: expiresIn } = flags
      await addToken({ ...storeOf(flags), name, scopes, tenant, expiresIn })
    })
}

function revokeCommand(): Command {
  return withStore(new Command('revoke').summary('revoke a token'), '{ ok, id, name }')
    .description('Revoke a token, by id or name: it is refused within two seconds.')
    .argument('<token>', 'its id or its name')
    .addHelpText('after', helpWith(['heddle tokens revoke ci']))
    .action(async (token: string, flags: CommonFlags) => {
      const { revokeToken } = await import('../tokens/token-actions.ts')
      await revokeToken({ ...storeOf(flags), token })
    })
}
