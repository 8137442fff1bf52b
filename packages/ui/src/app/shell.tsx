/** The frame of every view: side bar, line at the top, overlays. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { logOut } from '../api/client.ts'
import { describeError } from '../api/errors.ts'
import { listRuns } from '../api/runs.ts'
import { isLocked, session } from '../api/session.ts'
import { LinkPage, LoginPage } from '../pages/login/login.tsx'
import { Announcer, nameView } from '../parts/announce.tsx'
import { useComponent } from '../parts/component.ts'
import { Confirmation } from '../parts/confirm.tsx'
import { shortId } from '../parts/format.ts'
import { icons } from '../parts/icons.tsx'
import { Empty, Failed, Loading } from '../parts/placeholders.tsx'
import { SecretDialog } from '../parts/secret.tsx'
import mark from '../styles/mark.svg'
import { keymap, overlay, useCommands, useKeys, type Command } from './actions.ts'
import { address, go } from './address.ts'
import { KeysHelp } from './keys-help.tsx'
import { LiveSwitch, live } from './live-switch.tsx'
import { offeredPages, pageOf, type PageEntry } from './pages.ts'
import { Palette } from './palette.tsx'
import { askForPassword } from './password.tsx'
import { link } from './route.ts'
import { nextTheme, themeChoice } from './theme.ts'
import { Toasts, toast } from './toasts.tsx'

/** A link that sets a password, the login, or the views. */
export function Shell(): JSX.Element {
  const [name, secret] = address.value.path
  if (name === 'link' && secret !== undefined) return <LinkPage key={secret} secret={secret} />
  if (isLocked.value) return <LoginPage />
  return <Frame />
}

function Frame(): JSX.Element {
  const isMenuOpen = useSignal(false)
  const [name = 'runs', ...path] = address.value.path
  const page = pageOf(address.value)
  const menuButton = useRef<HTMLButtonElement>(null)
  useShellKeys()
  useEffect(() => {
    isMenuOpen.value = false
  }, [address.value])
  useLayoutEffect(() => {
    if (isMenuOpen.value) document.querySelector<HTMLElement>('.side ul a')?.focus()
  }, [isMenuOpen.value])
  const closeMenu = (): void => {
    isMenuOpen.value = false
    menuButton.current?.focus()
  }
  useKeys(
    isMenuOpen.value
      ? [{ keys: 'Escape', label: 'Close the menu', group: 'Everywhere', run: closeMenu }]
      : [],
    [isMenuOpen.value],
  )
  return (
    <div class="shell">
      <a class="skip-link" href="#content" onClick={focusContent}>
        Skip to content
      </a>
      <Side current={name} isOpen={isMenuOpen.value} />
      {isMenuOpen.value && <div class="side-cover" aria-hidden="true" onClick={closeMenu} />}
      <div class="main">
        <header class="top">
          <button
            class="button plain menu-button"
            type="button"
            ref={menuButton}
            aria-label="Menu"
            aria-expanded={isMenuOpen.value}
            onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
          >
            {icons.menu}
          </button>
          <Crumbs page={page} path={path} />
          <LiveSwitch />
          <button class="button" type="button" onClick={() => (overlay.value = 'palette')}>
            {icons.search}
            <span class="hide-small">Find</span> <kbd class="hide-small">/</kbd>
            <span class="sr">Open the command palette</span>
          </button>
        </header>
        {session.value === undefined ? (
          <main class="page" id="content" tabIndex={0}>
            <Loading />
          </main>
        ) : page === undefined ? (
          <UnknownPage name={name} />
        ) : (
          <PageFrame key={name} page={page} path={path} />
        )}
      </div>
      {overlay.value === 'palette' && <Palette />}
      {overlay.value === 'keys' && <KeysHelp />}
      <Confirmation />
      <SecretDialog />
      <Toasts />
      <Announcer />
    </div>
  )
}

function focusContent(event: Event): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

function Side({
  current,
  isOpen,
}: {
  readonly current: string
  readonly isOpen: boolean
}): JSX.Element {
  const groups = Map.groupBy(offeredPages(), (page) => page.group)
  const theme = themeChoice.value
  return (
    <nav class={`side ${isOpen ? 'open' : ''}`} aria-label="Views">
      <a class="brand" href={link(['runs'])}>
        <img src={mark} alt="" />
        Heddle
      </a>
      {[...groups].map(([group, entries]) => (
        <div key={group}>
          <h2>{group}</h2>
          <ul>
            {entries.map((page) => (
              <li key={page.name}>
                <a
                  href={link([page.name])}
                  aria-current={page.name === current ? 'page' : undefined}
                >
                  {icons[page.icon]}
                  {page.title}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <div class="side-foot">
        <Account />
        <div class="row">
          <button
            class="button plain small"
            type="button"
            onClick={nextTheme}
            aria-label={`Theme: ${theme}. Change it`}
          >
            {theme === 'dark' ? icons.moon : theme === 'light' ? icons.sun : icons.system}
            {themeNames[theme]}
          </button>
          <button class="button plain small" type="button" onClick={() => (overlay.value = 'keys')}>
            {icons.keys} Keys
          </button>
        </div>
      </div>
    </nav>
  )
}

const themeNames = { system: 'System', light: 'Light', dark: 'Dark' } as const

async function leave(): Promise<void> {
  try {
    await logOut()
  } catch (error) {
    toast('bad', describeError(error))
  }
}

/** Who is logged in. */
function Account(): JSX.Element | null {
  const user = session.value?.user
  if (user === null || user === undefined) return null
  return (
    <div class="account">
      <div class="grow cut">
        <b>{user.name}</b> <span class="quiet">{user.role}</span>
      </div>
      <button
        class="button plain small"
        type="button"
        aria-label="Change your password"
        onClick={askForPassword}
      >
        Password
      </button>
      <button class="button plain small" type="button" onClick={() => void leave()}>
        Log out
      </button>
    </div>
  )
}

function Crumbs({
  page,
  path,
}: {
  readonly page: PageEntry | undefined
  readonly path: readonly string[]
}): JSX.Element {
  const [first] = path
  return (
    <div class="crumbs">
      {page === undefined ? (
        <b>Not found</b>
      ) : first === undefined ? (
        <b>{page.title}</b>
      ) : (
        <>
          <a href={link([page.name])}>{page.title}</a>
          <span aria-hidden="true">/</span>
          <b class="cut mono">{first}</b>
        </>
      )}
    </div>
  )
}

function PageFrame({
  page,
  path,
}: {
  readonly page: PageEntry
  readonly path: readonly string[]
}): JSX.Element {
  const { Content, error } = useComponent(page.load)
  // A view inside of a page names itself; without one the page is what is shown.
  const isWhole = path.length === 0
  useEffect(() => {
    if (isWhole) nameView(page.title)
  }, [page, isWhole])
  if (error !== undefined) {
    return (
      <main class="page" id="content" tabIndex={0}>
        <Failed error={error} onRetry={() => location.reload()} />
      </main>
    )
  }
  if (Content !== undefined) return <Content path={path} />
  return (
    <main class="page" id="content" tabIndex={0}>
      <Loading />
    </main>
  )
}

function UnknownPage({ name }: { readonly name: string }): JSX.Element {
  return (
    <main class="page" id="content" tabIndex={0}>
      <Empty title="There is no such view">
        <p>
          The address names “{name}”. <a href={link(['runs'])}>Go to the runs</a>.
        </p>
      </Empty>
    </main>
  )
}

/** Runs by title, key and id, from wherever the palette is opened. */
async function findRuns(text: string): Promise<readonly Command[]> {
  const { runs } = await listRuns({ ...(text !== '' && { q: text }), limit: 12 })
  return runs.map((run) => ({
    id: `run-${run.id}`,
    title: `${run.title} ${shortId(run.id)}`,
    hint: run.outcome,
    run: () => go(link(['runs', run.id])),
  }))
}

function useShellKeys(): void {
  const offered = offeredPages()
  const names = offered.map((page) => page.name).join()
  const isUser = Boolean(session.value?.user)
  useKeys(
    [
      {
        keys: '/',
        label: 'Find a view, a run, a node or an action',
        group: 'Everywhere',
        run: () => (overlay.value = 'palette'),
      },
      {
        keys: 'ctrl+k',
        label: 'Find, too',
        group: 'Everywhere',
        run: () => (overlay.value = 'palette'),
        isHidden: true,
      },
      { keys: '?', label: 'These keys', group: 'Everywhere', run: () => (overlay.value = 'keys') },
      { keys: 't', label: 'Next theme: system, light, dark', group: 'Everywhere', run: nextTheme },
      {
        keys: 'u',
        label: 'Pause or resume live updates',
        group: 'Everywhere',
        run: () => (live.state.peek() === 'paused' ? live.resume() : live.pause()),
      },
      ...offered.map((page) => ({
        keys: `g ${page.key}`,
        label: page.title,
        group: 'Go to',
        run: () => go(link([page.name])),
      })),
    ],
    [names],
  )
  useCommands(
    () => [
      ...offered.map((page) => ({
        id: `page-${page.name}`,
        title: `Go to ${page.title}`,
        hint: `g ${page.key}`,
        run: () => go(link([page.name])),
      })),
      { id: 'theme', title: 'Change the theme', hint: 't', run: nextTheme },
      ...(isUser
        ? [
            { id: 'password', title: 'Change your password', run: askForPassword },
            { id: 'leave', title: 'Log out', run: () => void leave() },
          ]
        : []),
      { id: 'keys', title: 'Show all keys', hint: '?', run: () => (overlay.value = 'keys') },
      {
        id: 'live',
        title: 'Pause or resume live updates',
        hint: 'u',
        run: () => (live.state.peek() === 'paused' ? live.resume() : live.pause()),
      },
    ],
    [names, isUser],
  )
  useCommands(findRuns, [])
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (overlay.peek() !== 'none' || document.querySelector('dialog[open]') !== null) return
      const target = event.target as HTMLElement | null
      const inField =
        target?.closest(
          'textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=range])',
        ) !== null && target !== null
      const used = keymap.press({
        key: event.key,
        ctrl: event.ctrlKey || event.metaKey,
        alt: event.altKey,
        inField,
        // When it was pressed, not when a busy page came to it.
        at: event.timeStamp,
      })
      if (used) event.preventDefault()
    }
    const onVisibility = (): void => live.setHidden(document.hidden)
    document.addEventListener('keydown', onKey)
    document.addEventListener('visibilitychange', onVisibility)
    return () => {
      document.removeEventListener('keydown', onKey)
      document.removeEventListener('visibilitychange', onVisibility)
    }
  }, [])
}
