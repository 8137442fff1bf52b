/** Dark or light: as the system says, unless chosen. The choice is kept in this browser. */
import { computed, effect, signal, type ReadonlySignal } from '@preact/signals'

export type ThemeChoice = 'system' | 'light' | 'dark'
const themeChoices: readonly ThemeChoice[] = ['system', 'light', 'dark']

const storageKey = 'heddle.theme'
const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(prefersDark.matches)
prefersDark.addEventListener('change', (event) => {
  systemIsDark.value = event.matches
})

export const themeChoice = signal<ThemeChoice>(readChoice())

export const theme: ReadonlySignal<'light' | 'dark'> = computed(() => {
  if (themeChoice.value !== 'system') return themeChoice.value
  return systemIsDark.value ? 'dark' : 'light'
})

/** Sets the theme on the page now and whenever it changes. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
  })
  effect(() => {
    try {
      localStorage.setItem(storageKey, themeChoice.value)
    } catch {
      // Storage is forbidden in this browser: the choice lasts as long as the tab.
    }
  })
}

export function nextTheme(): void {
  const index = themeChoices.indexOf(themeChoice.value)
  themeChoice.value = themeChoices[(index + 1) % themeChoices.length]!
}

function readChoice(): ThemeChoice {
  try {
    const stored = localStorage.getItem(storageKey)
    return themeChoices.find((choice) => choice === stored) ?? 'system'
  } catch {
    return 'system'
  }
}
