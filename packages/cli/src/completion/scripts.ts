/**
 * The completion scripts. Each finds out which command the words before the cursor name, and offers the possible next
 * words: values after an option with a fixed list of them, options after a dash, subcommands otherwise, and files where
 * none of these fits.
 */
import type { CompletedPath } from './paths.ts'

const makers = { bash: bashScript, zsh: zshScript, fish: fishScript }

export function scriptFor(shell: keyof typeof makers, paths: readonly CompletedPath[]): string {
  return makers[shell](paths)
}

function bashScript(paths: readonly CompletedPath[]): string {
  const known = paths.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  const words = paths.map(({ path, subcommands, values, options }) => {
    const names = [...subcommands.map(({ name }) => name), ...values].join(' ')
    const dashed = options.map(({ long }) => long).join(' ')
    return `    ${quoted(path)}) words=${quoted(names)}; options=${quoted(dashed)} ;;`
  })
  const values = paths.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(
        ({ long, choices }) =>
          `    ${quoted(`${path} ${long}`)}) words=${quoted(choices.join(' '))}; options='' ;;`,
      ),
  )
  return `# Completion of heddle for bash. Made by: heddle completion bash
_heddle() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' words='' options='' next i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    # What follows is for the module that is run.
    if [[ "\${COMP_WORDS[i]}" == '--' ]]; then return; fi
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
      ${known.join('|')}) path="$next" ;;
    esac
  done
  case "$path" in
${words.join('\n')}
  esac
  case "$path $previous" in
${values.join('\n')}
  esac
  if [[ "$current" == -* ]]; then words="$options"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _heddle heddle
`
}

/** zsh runs completions of bash. */
function zshScript(paths: readonly CompletedPath[]): string {
  const script = bashScript(paths).split('\n').slice(1).join('\n')
  return `# Completion of heddle for zsh. Made by: heddle completion zsh
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${script}`
}

function fishScript(paths: readonly CompletedPath[]): string {
  const known = paths.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  const lines = paths.flatMap(({ path, subcommands, values, options }) => {
    const start = `complete -c heddle -n ${quoted(`__heddle_at "${path}"`)}`
    return [
      ...subcommands.map(
        ({ name, description }) => `${start} -f -a ${name} -d ${quotedForFish(description)}`,
      ),
      ...values.map((value) => `${start} -f -a ${value}`),
      ...options.map(({ long, short, takesValue, choices, description }) =>
        [
          `${start} -l ${long.slice(2)}`,
          short && `-s ${short}`,
          choices.length > 0 ? `-x -a ${quoted(choices.join(' '))}` : takesValue && '-r',
          `-d ${quotedForFish(description)}`,
        ]
          .filter(Boolean)
          .join(' '),
      ),
    ]
  })
  return `# Completion of heddle for fish. Made by: heddle completion fish
function __heddle_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$at $word")
    if contains -- $next ${known.join(' ')}
      set at $next
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

/** Names of commands, options and choices have no quote in them. */
function quoted(text: string): string {
  return `'${text}'`
}

function quotedForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
