"""A simulation in a window of Matplotlib's own: its widgets, its event loop."""

from __future__ import annotations

from scratch_embed.lesson.play.frames import kind, told
from scratch_embed.simulations import Control, Scene, Simulation

ROW, BELOW = 0.42, 0.52  # inches: of a control, and of the numbers below all
WIDE = 110  # characters of numbers on a line
EVERY = 300  # milliseconds of a step while it plays


class Window:
    """The picture with a widget for each control below it. `figure` is one of pyplot."""

    def __init__(self, simulation: Simulation, figure, **values):
        wide, high = simulation.size
        rows = [c for c in simulation.controls if len(c.values) > 1]
        space = ROW * len(rows) + BELOW
        figure.set_size_inches(wide, high + space)
        picture, panel = figure.subfigures(2, 1, height_ratios=[high, space])
        self.figure, self.timer = figure, None
        self.scene = Scene(simulation, picture, **values)
        self.numbers = figure.text(0.02, 0.004, "", fontsize=8, parse_math=False)
        self.widgets = {
            control.name: self._widget(panel, control, 1 - (k + 0.5) * ROW / space)
            for k, control in enumerate(rows)
        }
        figure.canvas.mpl_connect("button_press_event", self._click)
        self._moved()

    def set(self, **values) -> None:
        """Move controls, and the widgets with them."""
        self.scene.move(**values)
        for name, widget in self.widgets.items():
            self._put(widget, self._control(name), self.scene.values[name])
        self._moved()

    def _moved(self) -> None:
        lines = [""]
        for key, value in self.scene.numbers.items():
            both = f"{lines[-1]}   {key}: {value}".strip()
            lines[-1:] = [both] if len(both) <= WIDE else [lines[-1], f"{key}: {value}"]
        self.numbers.set_text("\n".join(lines))
        self.figure.canvas.draw_idle()

    def _control(self, name: str) -> Control:
        return next(c for c in self.scene.simulation.controls if c.name == name)

    def _widget(self, panel, control: Control, y: float):
        """A slider for everything that has an order or a name, a box for what may be typed."""
        from matplotlib.widgets import Button, CheckButtons, Slider, TextBox

        ax = panel.add_axes([0.3, y - 0.03, 0.42, 0.06])
        shape, start = kind(control), self.scene.values[control.name]
        if shape == "text":
            widget = TextBox(ax, control.label + " ", initial=start)
            widget.on_submit(lambda text: text and self._from(control, text))
        elif shape == "switch":
            widget = CheckButtons(ax, [control.label], [start])
            ax.spines[:].set_visible(False)
            widget.on_clicked(lambda _: self._from(control, widget.get_status()[0]))
        else:
            last = len(control.values) - 1
            widget = Slider(ax, control.label, 0, last, valinit=control.values.index(start),
                            valstep=1)  # fmt: skip
            widget.on_changed(lambda place: self._from(control, control.values[int(place)]))
        self._put(widget, control, start)
        if control.play:
            widget.button = Button(panel.add_axes([0.86, y - 0.06, 0.12, 0.12]), "Play")
            widget.button.on_clicked(lambda _: self._play(control))
        return widget

    def _put(self, widget, control: Control, value) -> None:
        """Show a value on a widget without being told of it."""
        widget.eventson = False
        shape = kind(control)
        if shape == "text":
            widget.set_val(value)
        elif shape == "switch":
            if widget.get_status()[0] != value:
                widget.set_active(0)
        else:
            widget.set_val(control.values.index(value))
            widget.valtext.set_text(told(value))
        widget.eventson = True

    def _from(self, control: Control, value) -> None:
        self.set(**{control.name: value})

    def _play(self, control: Control) -> None:
        if self.timer is not None:
            self.timer.stop()
            self.timer = None
            return
        place = control.values.index(self.scene.values[control.name])
        if place == len(control.values) - 1:
            self._from(control, control.values[0])
        self.timer = self.figure.canvas.new_timer(interval=EVERY)
        self.timer.add_callback(lambda: self._step(control))
        self.timer.start()

    def _step(self, control: Control) -> None:
        place = control.values.index(self.scene.values[control.name]) + 1
        if place < len(control.values):
            self._from(control, control.values[place])
        if place >= len(control.values) - 1 and self.timer is not None:
            self.timer.stop()
            self.timer = None

    def _click(self, event) -> None:
        """An artist whose gid names a control sets it."""
        for artist in reversed(self.scene.figure.findobj(lambda a: a.get_gid())):
            if artist.get_visible() and artist.contains(event)[0]:
                return self.set(**dict(self._orders(artist, event)))
        return None

    def _orders(self, artist, event):
        frame = artist.get_window_extent()
        along = {"x": (event.x - frame.x0) / frame.width, "y": (frame.y1 - event.y) / frame.height}
        for order in artist.get_gid().split(" & "):
            if "=" in order:
                name, _, text = order.partition("=")
                yield name, next(v for v in self._control(name).values if told(v) == text)
            else:
                name, _, axis = order.partition("@")
                values = self._control(name).values
                yield name, values[min(len(values) - 1, max(0, int(along[axis] * len(values))))]


def show(simulation: Simulation, **values) -> None:
    """Open a window and return when it is closed. RuntimeError where there is no display."""
    import matplotlib
    from matplotlib import pyplot

    backend = str(matplotlib.get_backend()).lower()
    if backend not in map(str.lower, matplotlib.backends.backend_registry.list_builtin(
            matplotlib.backends.BackendFilter.INTERACTIVE)):  # fmt: skip
        raise RuntimeError("a window needs a display and a toolkit such as Tk, which are not here")
    figure = pyplot.figure(layout="constrained")
    figure.window = Window(simulation, figure, **values)  # kept as long as the figure
    pyplot.show()
