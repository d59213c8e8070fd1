#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace activescale::net {

/// What an IoLoop is made of. Only .cc files that do I/O with Asio include this.
struct LoopCore {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work =
      boost::asio::make_work_guard(context);
};

}  // namespace activescale::net
