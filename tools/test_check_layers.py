"""Each rule of the layer checker catches a breach and lets the right form pass."""

import check_layers
import pytest

BEAST = "#include <boost/beast/http.hpp>\n"

CASES = [
    ("lower module", {"metric/a.h": '#include "base/b.h"\n'}, None),
    ("upper module", {"base/a.h": '#include "metric/b.h"\n'}, "base may not include metric/b.h"),
    ("indented include", {"base/a.h": '  # include "app/b.h"\n'}, "base may not include app/b.h"),
    ("wiring sees all", {"app/main.cc": '#include "keda/a.h"\n'}, None),
    ("unknown module", {"misc/a.h": ""}, "'misc' is not in the table"),
    ("test rules hold too", {"base/a_test.cc": '#include "net/b.h"\n'}, "may not include net/b.h"),
    ("fake in a test", {"base/a_test.cc": '#include "base/testing/b.h"\n'}, None),
    ("fake in product", {"base/a.cc": '#include "base/testing/b.h"\n'}, "includes test code"),
    ("wrapped library", {"redis/a.cc": "#include <hiredis/read.h>\n"}, None),
    ("leaked library", {"store/a.cc": "#include <hiredis/read.h>\n"}, "only ['redis'] may include"),
    ("one header of it", {"kube/a.cc": "#include <openssl/evp.h>\n"}, None),
    ("another header", {"kube/a.cc": "#include <openssl/ssl.h>\n"}, "only ['net'] may include"),
    ("library in a test", {"metric/a_test.cc": "#include <google/protobuf/message.h>\n"}, None),
    ("three Beast files", {f"net/{n}.cc": BEAST for n in "abc"}, None),
    ("four Beast files", {f"net/{n}.cc": BEAST for n in "abcd"}, "more than 3 files include Beast"),
    ("Beast in a header", {"net/a.h": BEAST}, "a header includes Beast"),
    (
        "Asio inside net",
        {"net/a.h": "#include <boost/asio.hpp>\n", "net/b.cc": '#include "net/a.h"\n'},
        None,
    ),
    (
        "Asio through two headers",
        {
            "net/a.h": "#include <boost/asio.hpp>\n",
            "net/b.h": '#include "net/a.h"\n',
            "kube/c.cc": '#include "net/b.h"\n',
        },
        "src/kube/c.cc: net/b.h brings Asio along",
    ),
]


@pytest.mark.parametrize("files, want", [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_sources(tmp_path, files, want):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    faults = check_layers.check_sources(tmp_path)
    if want is None:
        assert faults == []
    else:
        assert any(want in fault for fault in faults), faults


def test_table_has_an_order():
    assert check_layers.check_cycles(check_layers.MODULES) == []
    assert check_layers.check_cycles({"a": {"b"}, "b": {"a"}}) != []


def test_long_file_is_a_fault(tmp_path):
    (tmp_path / "a.cc").write_text("x\n" * 500)
    (tmp_path / "b.cc").write_text("x\n" * 499)
    assert check_layers.check_lengths(tmp_path, ["a.cc", "b.cc"]) == [
        "a.cc: 500 lines, the limit is below 500"
    ]
